package main

import (
	"encoding/hex"
	"encoding/json"
)

//go:wasmimport extism:host/user fs_read
func fsRead(path, offset, length uint64) uint64

//go:wasmimport extism:host/user fs_list
func fsList(path uint64) uint64

//go:wasmimport extism:host/user fs_stat
func fsStat(path uint64) uint64

//go:wasmimport extism:host/env alloc
func alloc(n uint64) uint64

//go:wasmimport extism:host/env length
func length(block uint64) uint64

//go:wasmimport extism:host/env load_u8
func loadU8(at uint64) uint32

//go:wasmimport extism:host/env store_u8
func storeU8(at uint64, b uint32)

//go:wasmimport extism:host/env error_get
func errorGet() uint64

func put(data []byte) uint64 {
	if len(data) == 0 {
		return 0
	}
	block := alloc(uint64(len(data)))
	for i, b := range data {
		storeU8(block+uint64(i), uint32(b))
	}
	return block
}

func get(block uint64) []byte {
	if block == 0 {
		return nil
	}
	data := make([]byte, length(block))
	for i := range data {
		data[i] = byte(loadU8(block + uint64(i)))
	}
	return data
}

func viaFS(a ask) answer {
	name, _ := hex.DecodeString(a.Path)
	switch a.Op {
	case "read":
		return fsReadAll(name, a)
	case "list":
		data := get(fsList(put(name)))
		var entries []struct{ Name, Type string }
		if json.Unmarshal(data, &entries) != nil {
			return answer{Errno: failed(data)}
		}
		list := []string{}
		for _, e := range entries {
			list = append(list, hex.EncodeToString([]byte(e.Name))+" "+e.Type)
		}
		return answer{List: list}
	case "stat":
		data := get(fsStat(put(name)))
		if no := failed(data); no != "" {
			return answer{Errno: no}
		}
		var info struct {
			Type string
			Size int64
		}
		if err := json.Unmarshal(data, &info); err != nil {
			return answer{Errno: err.Error()}
		}
		return answer{Type: info.Type, Size: info.Size}
	}
	return answer{Errno: "unknown op"}
}

func fsReadAll(name []byte, a ask) answer {
	var all []byte
	for len(all) < int(a.N) {
		block := fsRead(put(name), uint64(a.Off)+uint64(len(all)), uint64(int(a.N)-len(all)))
		if block == 0 {
			if e := errorGet(); e != 0 {
				return answer{Errno: failed(get(e))}
			}
			break // the end of the file
		}
		all = append(all, get(block)...)
	}
	return answer{Data: hex.EncodeToString(all)}
}

// failed returns the errno of a failure, "" for a success.
func failed(data []byte) string {
	var f struct{ Errno string }
	if json.Unmarshal(data, &f) != nil {
		return ""
	}
	return f.Errno
}
