package ddb

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"

	smithyhttp "github.com/aws/smithy-go/transport/http"
)

var errChecksum = errors.New("the reply was damaged on its way: its X-Amz-Crc32 does not match")

// checkReply reads a reply and compares it with the checksum that DynamoDB sends. The
// SDK computes it too, but since it closes the body by itself (service/dynamodb
// v1.74.0) it only logs a mismatch.
func checkReply(raw any) error {
	resp, ok := raw.(*smithyhttp.Response)
	if !ok || resp.Response == nil || resp.Uncompressed {
		return nil
	}
	header := resp.Header.Get("X-Amz-Crc32")
	if header == "" {
		return nil
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("reading the reply: %w", err)
	}
	want, err := strconv.ParseUint(header, 10, 32)
	if err != nil || crc32.ChecksumIEEE(body) != uint32(want) {
		return errChecksum
	}
	resp.Body = readCloser{bytes.NewReader(body), resp.Body}
	return nil
}

type readCloser struct {
	io.Reader
	io.Closer
}
