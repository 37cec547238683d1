package infra

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/seed3e88d9a2/spendcap/internal/bundle"
	"github.com/seed3e88d9a2/spendcap/site"
)

// page puts the demo page into its bucket. The function does it rather than the CDK's
// own bucket deployment, whose role may read and write everything in two buckets.
func (c *SpendCap) page() {
	f := c.function(functionProps{
		id: "Page", bundle: bundle.Page, description: "spendcap: puts the demo page into its bucket during a deployment",
		memory: 256, timeout: time.Minute,
	})
	names, digest := pageFiles()
	var objects []*string
	for _, name := range names {
		objects = append(objects, c.Site.ArnForObjects(jsii.String(name)))
	}
	allow(f.GrantPrincipal(), []string{"s3:PutObject", "s3:DeleteObject"}, objects...)
	resource := awscdk.NewCustomResource(c.Construct, jsii.String("PageFiles"), &awscdk.CustomResourceProps{
		ServiceToken: f.FunctionArn(),
		ResourceType: jsii.String("Custom::SpendCapPage"),
		Properties: &map[string]any{
			"Bucket":   c.Site.BucketName(),
			"SideDoor": c.SideDoorURL,
			"Content":  digest, // another page is another deployment of it
		},
	})
	resource.Node().AddDependency(f.Role()) // with its policy, or the first call may come too early
}

// pageFiles are the names of the page's files and a digest of all of them. The settings,
// which are not known before the deployment, change neither.
func pageFiles() (names []string, digest string) {
	h := sha256.New()
	for _, f := range site.Files(site.Settings{}) {
		names = append(names, f.Name)
		for _, part := range []string{f.Name, f.ContentType, site.CacheControl, string(f.Content)} {
			h.Write([]byte(part))
			h.Write([]byte{0})
		}
	}
	return names, hex.EncodeToString(h.Sum(nil))
}
