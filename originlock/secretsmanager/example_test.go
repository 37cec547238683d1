package secretsmanager_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	aws_sm "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"github.com/seed3e88d9a2/spendcap/originlock"
	"github.com/seed3e88d9a2/spendcap/originlock/secretsmanager"
)

// account stands for the AWS SDK's client, secretsmanager.NewFromConfig(cfg).
type account map[string]string

func (a account) GetSecretValue(_ context.Context, in *aws_sm.GetSecretValueInput, _ ...func(*aws_sm.Options)) (*aws_sm.GetSecretValueOutput, error) {
	secret, ok := a[*in.SecretId+" "+*in.VersionStage]
	if !ok {
		return nil, &types.ResourceNotFoundException{}
	}
	return &aws_sm.GetSecretValueOutput{SecretString: aws.String(secret)}, nil
}

// A lock in the middle of a rotation: what the edge sent until now passes, and so does
// what it will send.
func Example() {
	oldSecret, newSecret := strings.Repeat("0123456789abcdef", 4), strings.Repeat("fedcba9876543210", 4)
	client := account{"origin AWSCURRENT": oldSecret, "origin AWSPENDING": newSecret}

	ctx := context.Background()
	lock, err := originlock.New(ctx, originlock.Config{Source: secretsmanager.New(client, "origin")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(lock.Check(ctx, oldSecret))
	fmt.Println(lock.Check(ctx, newSecret))
	fmt.Println(lock.Check(ctx, oldSecret+","+newSecret))
	// Output:
	// true <nil>
	// true <nil>
	// false <nil>
}

// A key that is read once, in the init phase.
func ExampleRead() {
	client := account{"hmac AWSCURRENT": strings.Repeat("0123456789abcdef", 4) + "\n"}
	_, err := secretsmanager.Read(context.Background(), client, "hmac")
	fmt.Println(err)
	// Output: the secret hmac has white space around it: store it without
}
