package infra

import (
	"strings"
	"unicode"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
)

// routes lead to the function. Those of signed-in callers have a JWT authorizer, which
// refuses a request without a good token before the function sees it; the others are
// open, and what they let in is anonymous.
func (c *SpendCap) routes(integration awsapigatewayv2.CfnIntegration) {
	signIn := c.settings.signIn()
	var authorizer awsapigatewayv2.CfnAuthorizer
	if signIn != nil {
		authorizer = awsapigatewayv2.NewCfnAuthorizer(c.Construct, jsii.String("Authorizer"), &awsapigatewayv2.CfnAuthorizerProps{
			ApiId:          c.API.Ref(),
			AuthorizerType: jsii.String("JWT"),
			Name:           jsii.String(c.settings.Service),
			IdentitySource: jsii.Strings("$request.header.Authorization"),
			JwtConfiguration: &awsapigatewayv2.CfnAuthorizer_JWTConfigurationProperty{
				Issuer:   &signIn.Issuer,
				Audience: jsii.Strings(signIn.Audience...),
			},
		})
	}
	permitted := map[string]bool{}
	for _, r := range signIn.Routes() {
		props := &awsapigatewayv2.CfnRouteProps{
			ApiId:             c.API.Ref(),
			RouteKey:          jsii.String(r.Key),
			AuthorizationType: jsii.String("NONE"),
			Target:            jsii.String("integrations/" + *integration.Ref()),
		}
		if r.SignedIn {
			props.AuthorizationType, props.AuthorizerId = jsii.String("JWT"), authorizer.Ref()
			if len(signIn.Scopes) > 0 {
				props.AuthorizationScopes = jsii.Strings(signIn.Scopes...)
			}
		}
		awsapigatewayv2.NewCfnRoute(c.Construct, jsii.String("Route"+routeID(r.Key)), props)

		// A source has the route's path, and is the same for all methods.
		source := "$default/$default"
		if _, path, ok := strings.Cut(r.Key, " "); ok {
			source = "$default/*" + path
		}
		if !permitted[source] {
			permitted[source] = true
			c.Handler.AddPermission(jsii.String("InvokedByApi"+routeID(source)), &awslambda.Permission{
				Principal: awsiam.NewServicePrincipal(jsii.String("apigateway.amazonaws.com"), nil),
				SourceArn: awscdk.Stack_Of(c.Construct).FormatArn(&awscdk.ArnComponents{
					Service:      jsii.String("execute-api"),
					Resource:     c.API.Ref(),
					ResourceName: &source,
				}),
			})
		}
	}
}

// routeID is the part of a logical id that stands for a route: nothing for $default, so
// that its ids are those of a deployment without others, and the letters of any other.
// It is made of the key and not of a number, since CloudFormation cannot give a key to
// another resource.
func routeID(key string) string {
	letters := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, strings.ReplaceAll(key, "$default", ""))
	return letters
}
