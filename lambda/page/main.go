// Command page is a bootstrap for AWS Lambda (provided.al2023) that AWS CloudFormation
// calls while the stack is deployed
// (https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/template-custom-resources-lambda.html).
// It puts the demo page into the bucket that the property Bucket names, and removes it
// when the stack is deleted, so that the bucket can go.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"mime"
	"path"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/seed3e88d9a2/spendcap/site"
)

func main() {
	lambda.Start(cfn.LambdaWrap(func(ctx context.Context, e cfn.Event) (string, map[string]any, error) {
		c, err := awsconfig.LoadDefaultConfig(ctx)
		if err != nil {
			return e.PhysicalResourceID, nil, err
		}
		// The bucket as part of the path is understood by every kind of S3.
		client := s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true })
		return handle(ctx, client, site.Files(), e)
	}))
}

// buckets is the part of the AWS SDK's S3 client that is used.
type buckets interface {
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
	DeleteObject(context.Context, *s3.DeleteObjectInput, ...func(*s3.Options)) (*s3.DeleteObjectOutput, error)
}

// handle returns the name of the resource, which is the bucket's: another bucket is
// another resource, and CloudFormation then deletes the old one.
func handle(ctx context.Context, client buckets, files fs.FS, e cfn.Event) (string, map[string]any, error) {
	bucket, _ := e.ResourceProperties["Bucket"].(string)
	if bucket == "" {
		return e.PhysicalResourceID, nil, fmt.Errorf("the property Bucket is missing")
	}
	names, err := fs.Glob(files, "*")
	if err != nil {
		return bucket, nil, err
	}
	for _, name := range names {
		if e.RequestType == cfn.RequestDelete {
			_, err = client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &bucket, Key: &name})
		} else {
			err = put(ctx, client, files, bucket, name)
		}
		if err != nil {
			return bucket, nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return bucket, nil, nil
}

func put(ctx context.Context, client buckets, files fs.FS, bucket, name string) error {
	content, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	_, err = client.PutObject(ctx, &s3.PutObjectInput{
		Bucket:       &bucket,
		Key:          &name,
		Body:         bytes.NewReader(content),
		ContentType:  aws.String(mime.TypeByExtension(path.Ext(name))),
		CacheControl: aws.String("public, max-age=300"),
	})
	return err
}
