package vfs_test

import (
	"reflect"
	"syscall"
	"testing"

	"waymark/host/vfs"
)

func TestDepBinary(t *testing.T) {
	for _, d := range []vfs.Dep{
		{},
		{Kind: vfs.DepListed, Path: "a/b", As: "c", Hash: []byte{}},
		{Kind: vfs.DepLink, Path: "bad\xff", Target: "../x\n", Size: -1, Errno: syscall.EACCES},
		{Kind: vfs.DepRead, Path: "ü", Hash: make([]byte, 32), ID: vfs.Identity{Dev: 1 << 63, Ino: 2, Size: 3, Mtime: -4, Ctime: 1 << 62}, Young: true, Unstable: true},
	} {
		data, err := d.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var back vfs.Dep
		if err := back.UnmarshalBinary(data); err != nil || !reflect.DeepEqual(back, d) {
			t.Errorf("%+v became %+v, %v", d, back, err)
		}
		if err := back.UnmarshalBinary(data[:len(data)-1]); err == nil {
			t.Errorf("%+v: cut off and taken", d)
		}
		if err := back.UnmarshalBinary(append(data, 0)); err == nil {
			t.Errorf("%+v: longer and taken", d)
		}
	}
}

// TestBinaryIsWhole: no field is forgotten, now or when one is added.
func TestBinaryIsWhole(t *testing.T) {
	for _, form := range []interface {
		MarshalBinary() ([]byte, error)
		UnmarshalBinary(data []byte) error
	}{&vfs.Dep{}, &vfs.Error{}} {
		fill(t, reflect.ValueOf(form).Elem())
		data, err := form.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		back := reflect.New(reflect.TypeOf(form).Elem())
		if err := back.Interface().(interface{ UnmarshalBinary(data []byte) error }).UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back.Interface(), form) {
			t.Errorf("%+v became %+v", form, back.Interface())
		}
	}
}

// fill gives every field a value of its own.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString(v.Type().Field(i).Name)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(-i - 1))
		case reflect.Uint32, reflect.Uint64, reflect.Uintptr:
			f.SetUint(uint64(i + 1))
		case reflect.Slice:
			f.SetBytes([]byte{1})
		case reflect.Struct:
			fill(t, f)
		default:
			t.Fatalf("field %s: fill knows nothing of %s", v.Type().Field(i).Name, f.Kind())
		}
	}
}

func TestErrorBinary(t *testing.T) {
	e := vfs.Error{Op: "open", Path: "a\xff", Errno: syscall.EIO, Reason: vfs.ReasonNotRegular, Detail: "why"}
	data, err := e.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var back vfs.Error
	if err := back.UnmarshalBinary(data); err != nil || !reflect.DeepEqual(back, e) {
		t.Errorf("%+v became %+v, %v", e, back, err)
	}
}

// FuzzDepBinary: any bytes are refused or mean the same when they are read
// again.
func FuzzDepBinary(f *testing.F) {
	seed, _ := vfs.Dep{Kind: vfs.DepRead, Path: "a", Hash: []byte("x")}.MarshalBinary()
	f.Add(seed)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		var d, back vfs.Dep
		if d.UnmarshalBinary(data) != nil {
			return
		}
		again, err := d.MarshalBinary()
		if err == nil {
			err = back.UnmarshalBinary(again)
		}
		if err != nil || !reflect.DeepEqual(d, back) {
			t.Errorf("%+v became %+v, %v", d, back, err)
		}
	})
}
