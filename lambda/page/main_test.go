package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/seed3e88d9a2/spendcap/site"
)

type fakeBuckets struct {
	objects map[string]string
	headers map[string]string // the content type and the caching
	err     error
}

func (f *fakeBuckets) PutObject(_ context.Context, in *s3.PutObjectInput, _ ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	content, _ := io.ReadAll(in.Body)
	f.objects[*in.Bucket+"/"+*in.Key] = string(content)
	f.headers[*in.Key] = *in.ContentType + "; " + *in.CacheControl
	return nil, f.err
}

func (f *fakeBuckets) DeleteObject(_ context.Context, in *s3.DeleteObjectInput, _ ...func(*s3.Options)) (*s3.DeleteObjectOutput, error) {
	delete(f.objects, *in.Bucket+"/"+*in.Key)
	return nil, f.err
}

const sideDoor = "https://abc.execute-api.eu-central-1.amazonaws.com"

func event(kind cfn.RequestType, bucket any) cfn.Event {
	return cfn.Event{RequestType: kind, PhysicalResourceID: "before", ResourceProperties: map[string]any{"Bucket": bucket, "SideDoor": sideDoor}}
}

func TestHandle(t *testing.T) {
	for _, kind := range []cfn.RequestType{cfn.RequestCreate, cfn.RequestUpdate} {
		f := &fakeBuckets{objects: map[string]string{}, headers: map[string]string{}}
		if id, _, err := handle(t.Context(), f, event(kind, "b")); err != nil || id != "b" {
			t.Errorf("%s: %q %v", kind, id, err)
		}
		files := site.Files(site.Settings{SideDoor: sideDoor})
		for _, file := range files {
			if got := f.objects["b/"+file.Name]; got != string(file.Content) {
				t.Errorf("%s: %q", file.Name, got)
			}
			if got := f.headers[file.Name]; got != file.ContentType+"; no-cache" {
				t.Errorf("%s: %s", file.Name, got)
			}
		}
		if len(f.objects) != len(files) || !strings.Contains(f.objects["b/config.json"], sideDoor) {
			t.Errorf("%d objects, config.json is %s", len(f.objects), f.objects["b/config.json"])
		}
		if id, _, err := handle(t.Context(), f, event(cfn.RequestDelete, "b")); err != nil || id != "b" || len(f.objects) != 0 {
			t.Errorf("%q %v %v", id, err, f.objects)
		}
	}
}

func TestHandleErrors(t *testing.T) {
	f := &fakeBuckets{objects: map[string]string{}, headers: map[string]string{}, err: errors.New("denied")}
	for _, bucket := range []any{nil, "", 7} {
		if id, _, err := handle(t.Context(), f, event(cfn.RequestCreate, bucket)); err == nil || id != "before" {
			t.Errorf("%v: %q %v", bucket, id, err)
		}
	}
	for _, door := range []any{nil, "", 7} {
		e := event(cfn.RequestCreate, "b")
		e.ResourceProperties["SideDoor"] = door
		if _, _, err := handle(t.Context(), f, e); err == nil || len(f.objects) != 0 {
			t.Errorf("%v: %v", door, err)
		}
	}
	// A deletion needs it not, and must not be in the way of the stack's.
	e := event(cfn.RequestDelete, "b")
	delete(e.ResourceProperties, "SideDoor")
	if _, _, err := handle(t.Context(), &fakeBuckets{}, e); err != nil {
		t.Error(err)
	}
	for _, kind := range []cfn.RequestType{cfn.RequestCreate, cfn.RequestDelete} {
		if _, _, err := handle(t.Context(), f, event(kind, "b")); err == nil || !strings.Contains(err.Error(), "config.json: denied") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
