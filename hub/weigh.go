package hub

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// parts counts the messages within an encoded message, at least up to limit:
// each of two bytes on the wire takes a hundred and more once it is decoded,
// so that a count of them says what decoding will cost. What can't be read is
// left to the decoder, which says so.
func parts(data []byte, message protoreflect.MessageDescriptor, limit int) (n int) {
	fields := message.Fields()
	for len(data) > 0 && n <= limit {
		number, kind, size := protowire.ConsumeTag(data)
		if size < 0 {
			return n
		}
		data = data[size:]
		if size = protowire.ConsumeFieldValue(number, kind, data); size < 0 {
			return n
		}
		value := data[:size]
		data = data[size:]
		field := fields.ByNumber(number)
		if kind != protowire.BytesType || field == nil || field.Message() == nil {
			continue
		}
		inner, _ := protowire.ConsumeBytes(value)
		n += 1 + parts(inner, field.Message(), limit-n)
	}
	return n
}
