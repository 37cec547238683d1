package infra

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudfront"
	"github.com/aws/jsii-runtime-go"

	"github.com/seed3e88d9a2/spendcap/site"
)

// pageHeaders are the headers of every answer of the page: what package site says, and
// Strict-Transport-Security, for the distribution speaks HTTPS alone. CloudFront has
// fields of its own for some headers; the others are custom ones
// (https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/understanding-response-headers-policies.html).
func (c *SpendCap) pageHeaders() awscloudfront.ResponseHeadersPolicy {
	always := jsii.Bool(true)
	security := &awscloudfront.ResponseSecurityHeadersBehavior{
		StrictTransportSecurity: &awscloudfront.ResponseHeadersStrictTransportSecurity{
			AccessControlMaxAge: awscdk.Duration_Days(jsii.Number(365)), Override: always,
		},
	}
	var custom []*awscloudfront.ResponseCustomHeader
	for _, h := range site.Headers(site.Settings{SideDoor: *c.SideDoorURL}) {
		// What is fixed there has the one value that the field stands for; a test
		// compares them.
		switch h.Name {
		case "Content-Security-Policy":
			security.ContentSecurityPolicy = &awscloudfront.ResponseHeadersContentSecurityPolicy{ContentSecurityPolicy: &h.Value, Override: always}
		case "X-Content-Type-Options":
			security.ContentTypeOptions = &awscloudfront.ResponseHeadersContentTypeOptions{Override: always}
		case "X-Frame-Options":
			security.FrameOptions = &awscloudfront.ResponseHeadersFrameOptions{FrameOption: awscloudfront.HeadersFrameOption(h.Value), Override: always}
		case "Referrer-Policy":
			policy := strings.ToUpper(strings.ReplaceAll(h.Value, "-", "_"))
			security.ReferrerPolicy = &awscloudfront.ResponseHeadersReferrerPolicy{ReferrerPolicy: awscloudfront.HeadersReferrerPolicy(policy), Override: always}
		default:
			custom = append(custom, &awscloudfront.ResponseCustomHeader{Header: &h.Name, Value: &h.Value, Override: always})
		}
	}
	stack := awscdk.Stack_Of(c.Construct)
	return awscloudfront.NewResponseHeadersPolicy(c.Construct, jsii.String("PageHeaders"), &awscloudfront.ResponseHeadersPolicyProps{
		// The names are those of the account, in all regions.
		ResponseHeadersPolicyName: jsii.String(*awscdk.Names_UniqueResourceName(c.Construct, &awscdk.UniqueResourceNameOptions{MaxLength: jsii.Number(80)}) + "-" + *stack.Region()),
		Comment:                   jsii.String("spendcap: the demo page"),
		SecurityHeadersBehavior:   security,
		CustomHeadersBehavior:     &awscloudfront.ResponseCustomHeadersBehavior{CustomHeaders: &custom},
	})
}
