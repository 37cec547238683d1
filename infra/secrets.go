package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/jsii-runtime-go"
)

// secrets are two, because one rotates by itself and the other must not: with another
// key every caller would be a new one. `spendcap rotate-hmac` changes it, from a midnight
// on.
func (c *SpendCap) secrets() {
	draw := func(id, description string) awssecretsmanager.Secret {
		return awssecretsmanager.NewSecret(c.Construct, &id, &awssecretsmanager.SecretProps{
			Description: &description,
			GenerateSecretString: &awssecretsmanager.SecretStringGenerator{
				PasswordLength:          jsii.Number(64),
				ExcludePunctuation:      jsii.Bool(true), // it travels in a header
				RequireEachIncludedType: jsii.Bool(true),
			},
			RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
		})
	}
	c.OriginSecret = draw("OriginSecret", "spendcap: what CloudFront sends to the API in X-Origin-Verify")
	c.HMACSecret = draw("HmacSecret", "spendcap: the key of the caller keys; changing it starts all counts of the day again")
}
