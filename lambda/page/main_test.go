package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/seed3e88d9a2/spendcap/site"
)

type fakeBuckets struct {
	objects map[string]string
	types   map[string]string
	err     error
}

func (f *fakeBuckets) PutObject(_ context.Context, in *s3.PutObjectInput, _ ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	content, _ := io.ReadAll(in.Body)
	f.objects[*in.Bucket+"/"+*in.Key] = string(content)
	f.types[*in.Key] = *in.ContentType
	return nil, f.err
}

func (f *fakeBuckets) DeleteObject(_ context.Context, in *s3.DeleteObjectInput, _ ...func(*s3.Options)) (*s3.DeleteObjectOutput, error) {
	delete(f.objects, *in.Bucket+"/"+*in.Key)
	return nil, f.err
}

func event(kind cfn.RequestType, bucket any) cfn.Event {
	return cfn.Event{RequestType: kind, PhysicalResourceID: "before", ResourceProperties: map[string]any{"Bucket": bucket}}
}

func TestHandle(t *testing.T) {
	f := &fakeBuckets{objects: map[string]string{}, types: map[string]string{}}
	for _, kind := range []cfn.RequestType{cfn.RequestCreate, cfn.RequestUpdate} {
		id, _, err := handle(t.Context(), f, site.Files(), event(kind, "b"))
		if err != nil || id != "b" || !strings.Contains(f.objects["b/index.html"], "<html") || f.types["index.html"] != "text/html; charset=utf-8" {
			t.Errorf("%s: %q %v %v", kind, id, err, f.types)
		}
	}
	if id, _, err := handle(t.Context(), f, site.Files(), event(cfn.RequestDelete, "b")); err != nil || id != "b" || len(f.objects) != 0 {
		t.Errorf("%q %v %v", id, err, f.objects)
	}
}

func TestHandleErrors(t *testing.T) {
	f := &fakeBuckets{objects: map[string]string{}, types: map[string]string{}, err: errors.New("denied")}
	for _, bucket := range []any{nil, "", 7} {
		if id, _, err := handle(t.Context(), f, site.Files(), event(cfn.RequestCreate, bucket)); err == nil || id != "before" {
			t.Errorf("%v: %q %v", bucket, id, err)
		}
	}
	if _, _, err := handle(t.Context(), f, site.Files(), event(cfn.RequestCreate, "b")); err == nil || !strings.Contains(err.Error(), "index.html: denied") {
		t.Error(err)
	}
	if _, _, err := handle(t.Context(), f, fstest.MapFS{"a.css": {}}, event(cfn.RequestDelete, "b")); err == nil {
		t.Error("no error")
	}
}
