// Command page is a bootstrap for AWS Lambda (provided.al2023) that AWS CloudFormation
// calls while the stack is deployed
// (https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/template-custom-resources-lambda.html).
// It puts the demo page into the bucket that the property Bucket names, and removes it
// when the stack is deleted, so that the bucket can go. The property SideDoor is the
// API's own URL, for the page to tell.
package main

import (
	"bytes"
	"context"
	"fmt"

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
		return handle(ctx, client, e)
	}))
}

// buckets is the part of the AWS SDK's S3 client that is used.
type buckets interface {
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
	DeleteObject(context.Context, *s3.DeleteObjectInput, ...func(*s3.Options)) (*s3.DeleteObjectOutput, error)
}

// handle returns the name of the resource, which is the bucket's: another bucket is
// another resource, and CloudFormation then deletes the old one.
func handle(ctx context.Context, client buckets, e cfn.Event) (string, map[string]any, error) {
	bucket, _ := e.ResourceProperties["Bucket"].(string)
	if bucket == "" {
		return e.PhysicalResourceID, nil, fmt.Errorf("the property Bucket is missing")
	}
	sideDoor, _ := e.ResourceProperties["SideDoor"].(string)
	if sideDoor == "" && e.RequestType != cfn.RequestDelete {
		return bucket, nil, fmt.Errorf("the property SideDoor is missing")
	}
	for _, f := range site.Files(site.Settings{SideDoor: sideDoor}) {
		var err error
		if e.RequestType == cfn.RequestDelete {
			_, err = client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &bucket, Key: &f.Name})
		} else {
			_, err = client.PutObject(ctx, &s3.PutObjectInput{
				Bucket:       &bucket,
				Key:          &f.Name,
				Body:         bytes.NewReader(f.Content),
				ContentType:  &f.ContentType,
				CacheControl: aws.String(site.CacheControl),
			})
		}
		if err != nil {
			return bucket, nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return bucket, nil, nil
}
