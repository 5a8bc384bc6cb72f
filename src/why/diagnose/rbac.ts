import type { Cause, Evidence, Remedy } from '../diagnosis.ts'
import type { DeniedRequest } from './log-hints.ts'
import { kubectl, remedy } from './phrases.ts'

interface Denial {
  /** What sent the request: `Pod shop/web-0`. */
  readonly subject: string
  readonly evidence: readonly Evidence[]
}

const accountPrefix = 'system:serviceaccount:'

/** A request that RBAC does not allow, with the role and binding that would allow it. */
export function diagnoseDeniedRequest(request: DeniedRequest, { subject, evidence }: Denial): Cause {
  const { user, verb, resource, group, namespace } = request
  const account = user.startsWith(accountPrefix)
    ? `ServiceAccount ${user.slice(accountPrefix.length).replace(':', '/')}`
    : `user ${user}`
  const qualified = group === '' ? resource : qualify(resource, group)
  const where = namespace === undefined ? 'in the whole cluster' : `in namespace ${namespace}`
  return {
    code: 'Rbac',
    summary: `${subject} fails, since its ${account} may not ${verb} ${qualified} ${where}.`,
    evidence,
    remedies: remediesOf(request, qualified),
  }
}

function remediesOf({ user, verb, namespace }: DeniedRequest, qualified: string): readonly Remedy[] {
  const name = `${verb}-${qualified.replaceAll(/[^a-z0-9-]/g, '-')}`
  const kind = namespace === undefined ? 'clusterrole' : 'role'
  const subject = user.startsWith(accountPrefix)
    ? `--serviceaccount=${user.slice(accountPrefix.length)}`
    : `--user=${user}`
  const check = ['auth', 'can-i', verb, qualified, `--as=${user}`]
  return [
    remedy(
      'Allow it, if the program needs it:',
      kubectl(namespace, 'create', kind, name, `--verb=${verb}`, `--resource=${qualified}`),
    ),
    remedy(
      'Bind the role:',
      kubectl(namespace, 'create', `${kind}binding`, name, `--${kind}=${name}`, subject),
    ),
    remedy('Check:', kubectl(namespace, ...check, ...(namespace === undefined ? ['--all-namespaces'] : []))),
  ]
}

/** `deployments.apps/scale` for the subresource of a resource in a group. */
function qualify(resource: string, group: string): string {
  const [plural = '', subresource] = resource.split('/')
  return `${plural}.${group}${subresource === undefined ? '' : `/${subresource}`}`
}
