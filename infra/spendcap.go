package infra

import (
	"context"
	"os"
	"path/filepath"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudfront"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/seed3e88d9a2/spendcap/internal/bundle"
)

// SpendCap is one deployment. Its parts are there to be given more permissions, alarms
// or behaviours; what the template tests hold them to should stay.
type SpendCap struct {
	constructs.Construct

	Table        awsdynamodb.Table
	OriginSecret awssecretsmanager.Secret // what the edge sends; rotates
	HMACSecret   awssecretsmanager.Secret // the key of the caller keys; does not rotate
	Handler      awslambda.Function
	API          awsapigatewayv2.CfnApi
	Distribution awscloudfront.Distribution // nil with an existing one
	Site         awss3.Bucket               // nil with an existing distribution
	Rotate       awslambda.Function
	Alarms       awssns.Topic

	// SiteURL and SideDoorURL have no slash at the end.
	SiteURL, SideDoorURL *string

	settings settings
	lambdas  string // the folder with the built functions
}

// NewSpendCap adds a deployment to a scope. Props may be nil. An error says which
// setting is wrong, or which line of the operator's file, or why a function cannot be
// built; the scope is then not to be used.
func NewSpendCap(scope constructs.Construct, id string, props *Props) (*SpendCap, error) {
	if props == nil {
		props = new(Props)
	}
	checked, err := props.check()
	if err != nil {
		return nil, err
	}
	c := &SpendCap{Construct: constructs.NewConstruct(scope, &id), settings: checked}
	done, err := c.build()
	if err != nil {
		return nil, err
	}
	defer done()
	c.table()
	c.secrets()
	c.handler()
	c.api()
	if checked.Existing != nil {
		c.SiteURL = &checked.Existing.URL
	} else {
		c.edge()
		c.page()
	}
	c.rotation()
	c.alarms()
	c.dashboard()
	c.budget()
	awscdk.Tags_Of(c.Construct).Add(jsii.String("app"), jsii.String("spendcap"), nil)
	awscdk.Tags_Of(c.Construct).Add(jsii.String("spendcap:service"), &checked.Service, nil)
	return c, nil
}

// build makes the functions that the deployment needs, unless they are given. The CDK
// copies them while their code is bound, so done may remove them afterwards.
func (c *SpendCap) build() (done func(), err error) {
	if c.settings.Lambdas != "" {
		c.lambdas = c.settings.Lambdas
		return func() {}, nil
	}
	dir, err := os.MkdirTemp("", "spendcap-lambdas-")
	if err != nil {
		return nil, err
	}
	done = func() { os.RemoveAll(dir) }
	names := []string{bundle.Rotate}
	if c.settings.Existing == nil {
		names = append(names, bundle.Page)
	}
	if c.settings.Handler == nil {
		names = append(names, bundle.API)
	}
	if err := bundle.Build(context.Background(), dir, c.settings.Architecture, c.settings.content, names...); err != nil {
		done()
		return nil, err
	}
	c.lambdas = dir
	return done, nil
}

func (c *SpendCap) code(name string) awslambda.Code {
	return awslambda.Code_FromAsset(jsii.String(filepath.Join(c.lambdas, name)), nil)
}
