package infra

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudfront"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudfrontorigins"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/jsii-runtime-go"

	"github.com/seed3e88d9a2/spendcap/internal/deadlines"
	"github.com/seed3e88d9a2/spendcap/originlock"
)

// originID is the API's origin in the distribution. It is fixed because the rotation
// looks for it.
const originID = "spendcap-api"

// cachedErrors are the statuses that CloudFront may keep for others
// (https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/HTTPStatusCodes.html).
var cachedErrors = []float64{400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504}

// edge is the distribution: the demo page by default, /api/* to the API with the
// secret. The secret is a dynamic reference, which CloudFormation resolves whenever it
// updates the distribution, to AWSCURRENT. In the middle of a rotation that may not be
// what the edge sends, but the locks accept it, and the rotation puts its own back.
func (c *SpendCap) edge() {
	c.Site = awss3.NewBucket(c.Construct, jsii.String("Site"), &awss3.BucketProps{
		BlockPublicAccess: awss3.BlockPublicAccess_BLOCK_ALL(),
		Encryption:        awss3.BucketEncryption_S3_MANAGED,
		EnforceSSL:        jsii.Bool(true),
		RemovalPolicy:     awscdk.RemovalPolicy_DESTROY, // the page's function empties it
	})
	secret := awscdk.Fn_Join(jsii.String(""), &[]*string{
		jsii.String("{{resolve:secretsmanager:"), c.OriginSecret.SecretArn(), jsii.String(":SecretString:::}}"),
	})
	api := awscloudfrontorigins.NewHttpOrigin(c.domain(), &awscloudfrontorigins.HttpOriginProps{
		OriginId:           jsii.String(originID),
		ProtocolPolicy:     awscloudfront.OriginProtocolPolicy_HTTPS_ONLY,
		OriginSslProtocols: &[]awscloudfront.OriginSslPolicy{awscloudfront.OriginSslPolicy_TLS_V1_2},
		ReadTimeout:        awscdk.Duration_Seconds(jsii.Number(deadlines.Edge.Seconds())),
		CustomHeaders:      &map[string]*string{originlock.Header: secret},
	})
	var errors []*awscloudfront.ErrorResponse
	for _, status := range cachedErrors {
		errors = append(errors, &awscloudfront.ErrorResponse{
			HttpStatus: jsii.Number(status),
			Ttl:        awscdk.Duration_Seconds(jsii.Number(0)),
		})
	}
	props := &awscloudfront.DistributionProps{
		Comment:           jsii.String("spendcap"),
		DefaultRootObject: jsii.String("index.html"),
		EnableIpv6:        jsii.Bool(true),
		HttpVersion:       awscloudfront.HttpVersion_HTTP2_AND_3,
		DefaultBehavior: &awscloudfront.BehaviorOptions{
			Origin:                awscloudfrontorigins.S3BucketOrigin_WithOriginAccessControl(c.Site, nil),
			AllowedMethods:        awscloudfront.AllowedMethods_ALLOW_GET_HEAD(),
			CachePolicy:           awscloudfront.CachePolicy_CACHING_OPTIMIZED(),
			ResponseHeadersPolicy: c.pageHeaders(),
			ViewerProtocolPolicy:  awscloudfront.ViewerProtocolPolicy_REDIRECT_TO_HTTPS,
			Compress:              jsii.Bool(true),
		},
		AdditionalBehaviors: &map[string]*awscloudfront.BehaviorOptions{
			"/api/*": {
				Origin:              api,
				AllowedMethods:      awscloudfront.AllowedMethods_ALLOW_ALL(),
				CachePolicy:         awscloudfront.CachePolicy_CACHING_DISABLED(),
				OriginRequestPolicy: awscloudfront.OriginRequestPolicy_ALL_VIEWER_EXCEPT_HOST_HEADER(),
				// Not a redirect: a client would have sent its key in the clear before it.
				ViewerProtocolPolicy: awscloudfront.ViewerProtocolPolicy_HTTPS_ONLY,
				Compress:             jsii.Bool(false),
			},
		},
		ErrorResponses: &errors,
	}
	if len(c.settings.DomainNames) > 0 {
		props.DomainNames = jsii.Strings(c.settings.DomainNames...)
		props.Certificate = c.settings.Certificate
		props.MinimumProtocolVersion = awscloudfront.SecurityPolicyProtocol_TLS_V1_2_2021
	}
	c.Distribution = awscloudfront.NewDistribution(c.Construct, jsii.String("Edge"), props)
	host := *c.Distribution.DistributionDomainName()
	if len(c.settings.DomainNames) > 0 {
		host = c.settings.DomainNames[0]
	}
	c.SiteURL = jsii.String(fmt.Sprintf("https://%s", host))
}
