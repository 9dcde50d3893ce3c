//go:build !linux

package sealedstore

func adviseHuge([]byte) {}
