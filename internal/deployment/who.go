package deployment

import (
	"context"
	"os"
	"os/user"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// Who is at the tool, for the record: the ARN of the AWS identity, which needs no
// permission to be asked, or else the user and the name of this machine.
func (d *Deployment) Who(ctx context.Context) string {
	if d.options.Endpoint == "" {
		if out, err := sts.NewFromConfig(d.aws).GetCallerIdentity(ctx, nil); err == nil && aws.ToString(out.Arn) != "" {
			return *out.Arn
		}
	}
	name := "somebody"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}
