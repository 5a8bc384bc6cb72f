/** An API server with admission policies, and helpers for them. */
import type { TestContext } from 'node:test'
import { nodePlatform } from '#/platform/node.ts'
import type { Platform } from '#/platform/platform.ts'
import type { AdmissionPlugin } from '../admission-chain.ts'
import { mutatingAdmissionPolicy } from '../plugins/mutating-admission-policy.ts'
import type { PluginContext } from '../plugin-context.ts'
import { validatingAdmissionPolicy } from '../plugins/validating-admission-policy.ts'
import { startWith, type PluginServer } from './plugin-server.ts'

export interface PolicyServer extends PluginServer {
  /** Creates a policy and a binding of the same name; both are active when this resolves. */
  readonly enforce: (kind: Kind, name: string, spec: object, binding?: object) => Promise<void>
  /** Deletes the policy and its binding. */
  readonly lift: (kind: Kind, name: string) => Promise<void>
  /** Audit annotations since the last call. */
  readonly annotations: () => Readonly<Record<string, string>>
}

type Kind = 'mutating' | 'validating'

const group = '/apis/admissionregistration.k8s.io/v1'

export async function startPolicies(
  t: Pick<TestContext, 'after'>,
  context: Partial<PluginContext> = {},
): Promise<PolicyServer> {
  let annotations: Record<string, string> = {}
  const validating = (given: PluginContext): AdmissionPlugin => {
    const plugin = validatingAdmissionPolicy(given)
    return {
      ...plugin,
      validate: request =>
        plugin.validate?.({
          ...request,
          addAuditAnnotation: (key, value) => void (annotations[key] ??= value),
        }),
    }
  }
  const server = await startWith(t, [mutatingAdmissionPolicy, validating], { context, platform: quiet() })
  const lift: PolicyServer['lift'] = async (kind, name) => {
    await server.request('DELETE', `${group}/${kind}admissionpolicybindings/${name}`)
    await server.request('DELETE', `${group}/${kind}admissionpolicies/${name}`)
    await server.request('GET', '/api/v1/namespaces')
  }
  return {
    ...server,
    lift,
    enforce: async (kind, name, spec, binding = {}) => {
      await server.given(`${group}/${kind}admissionpolicies`, policy(kind, name, spec))
      await server.given(`${group}/${kind}admissionpolicybindings`, bindingOf(kind, name, binding))
    },
    annotations: () => {
      const told = annotations
      annotations = {}
      return told
    },
  }
}

/** Silences the log of requests that fail on purpose. */
function quiet(): Platform {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  return { ...platform, log: { ...platform.log, error: () => undefined } }
}

/** A policy that matches creation and update of config maps. */
export function policy(kind: Kind, name: string, spec: object): object {
  return {
    kind: kind === 'mutating' ? 'MutatingAdmissionPolicy' : 'ValidatingAdmissionPolicy',
    apiVersion: 'admissionregistration.k8s.io/v1',
    metadata: { name },
    spec: {
      matchConstraints: { resourceRules: [rule('configmaps')] },
      ...(kind === 'mutating' && { reinvocationPolicy: 'Never' }),
      ...spec,
    },
  }
}

export function bindingOf(kind: Kind, name: string, spec: object = {}): object {
  return {
    kind: kind === 'mutating' ? 'MutatingAdmissionPolicyBinding' : 'ValidatingAdmissionPolicyBinding',
    apiVersion: 'admissionregistration.k8s.io/v1',
    metadata: { name },
    spec: { policyName: name, ...(kind === 'validating' && { validationActions: ['Deny'] }), ...spec },
  }
}

export function rule(resources: string, fields: object = {}): object {
  return {
    apiGroups: [''],
    apiVersions: ['v1'],
    operations: ['CREATE', 'UPDATE'],
    resources: resources.split(' '),
    ...fields,
  }
}
