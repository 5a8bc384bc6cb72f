import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '#/base/seeded-random.ts'
import { arbitraryObject } from '#/api/arbitrary-object.ts'
import { structDefinition } from '#/api/definitions.ts'
import { isApiError } from '#/api/errors.ts'
import { deepFreeze } from '#/api/text/json-value.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { readAdmission } from '../admission.ts'
import type { ApiServer } from '../api-server.ts'
import type { UserInfo } from '../request.ts'
import { startTestServer } from '../test-server.ts'
import { AdmissionChain, type AdmissionAttributes } from './admission-chain.ts'

/** All plugins except those that need an external backend or reject everything. */
const everything = [
  'NamespaceExists',
  'SecurityContextDeny',
  'LimitPodHardAntiAffinityTopology',
  'PodPreset',
  'NodeRestriction',
  'AlwaysPullImages',
  'PodNodeSelector',
  'PodTolerationRestriction',
  'ExtendedResourceToleration',
  'OwnerReferencesPermissionEnforcement',
  'DenyServiceExternalIPs',
  'Initializers',
]

const kinds: readonly (readonly [name: string, definition: string, subresources?: readonly string[]])[] = [
  ['pods', 'core.v1.Pod', ['', 'status', 'ephemeralcontainers', 'resize']],
  ['pods', 'core.v1.Binding', ['binding']],
  ['pods', 'policy.v1.Eviction', ['eviction']],
  ['serviceaccounts', 'authentication.v1.TokenRequest', ['token']],
  ['persistentvolumeclaims', 'core.v1.PersistentVolumeClaim', ['', 'status']],
  ['services', 'core.v1.Service'],
  ['namespaces', 'core.v1.Namespace'],
  ['nodes', 'core.v1.Node', ['', 'status']],
  ['deployments.apps', 'apps.v1.Deployment'],
  ['cronjobs.batch', 'batch.v1.CronJob'],
  ['jobs.batch', 'batch.v1.Job'],
  ['ingresses.networking.k8s.io', 'networking.v1.Ingress'],
  [
    'certificatesigningrequests.certificates.k8s.io',
    'certificates.v1.CertificateSigningRequest',
    ['', 'approval', 'status'],
  ],
  ['resourceslices.resource.k8s.io', 'resource.v1.ResourceSlice'],
  ['leases.coordination.k8s.io', 'coordination.v1.Lease'],
  ['csinodes.storage.k8s.io', 'storage.v1.CSINode'],
  ['priorityclasses.scheduling.k8s.io', 'scheduling.v1.PriorityClass'],
]

const users: readonly UserInfo[] = [
  { username: 'u', groups: [] },
  { username: 'system:node:n', groups: ['system:nodes'] },
]

test('plugins admit or reject random requests with an API error and mutate nothing in place', async t => {
  const make = await readAdmission(undefined as never, { enable: everything })
  let admissions: readonly AdmissionChain[] = []
  const { request, server } = await startTestServer(t, undefined, {
    // Each plugin runs in a separate chain, so that one rejection does not hide the others.
    admission: context => {
      admissions = make(context).map(plugin => new AdmissionChain([plugin]))
      return []
    },
  })
  const named = { kind: 'ServiceAccount', apiVersion: 'v1', metadata: { name: 'default' } }
  await request('POST', '/api/v1/namespaces/default/serviceaccounts', named)
  await request('POST', '/api/v1/nodes', { kind: 'Node', apiVersion: 'v1', metadata: { name: 'n' } })
  const outcomes = new Map<string, number>()
  for (const write of writes(server)) {
    for (const admission of admissions) {
      const outcome = await admit(admission, write)
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    }
  }
  for (const outcome of ['let through', 'Forbidden']) assert.ok((outcomes.get(outcome) ?? 0) > 100, outcome)
})

async function admit(admission: AdmissionChain, write: AdmissionAttributes): Promise<string> {
  try {
    const object = write.operation === 'DELETE' ? undefined : await admission.mutate(write)
    await admission.validate({ ...write, object })
    return 'let through'
  } catch (error) {
    if (isApiError(error)) return error.reason
    throw new Error(`${write.operation} ${JSON.stringify(write.object)}`, { cause: error })
  }
}

const seeds = 8

function* writes({ scheme }: ApiServer): Generator<AdmissionAttributes> {
  for (const [name, definition, subresources = ['']] of kinds) {
    const [resource] = scheme.named(name.split('.')[0]!)
    assert.ok(resource, name)
    for (let seed = 0; seed < seeds; seed++) {
      const random = new SeededRandom(`${name} ${definition} ${seed}`)
      const [object, oldObject] = [0, 1].map(
        () =>
          deepFreeze(arbitraryObject(structDefinition(definition), { random, words })) as KubernetesObject,
      )
      for (const operation of ['CREATE', 'UPDATE', 'DELETE'] as const) {
        for (const subresource of subresources) {
          for (const user of users) {
            yield {
              operation,
              resource,
              subresource,
              user,
              namespace: 'default',
              name: 'n',
              dryRun: true,
              options: {},
              object: operation === 'DELETE' ? undefined : object!,
              oldObject: operation === 'CREATE' ? undefined : oldObject,
              warn: () => undefined,
              addAuditAnnotation: () => undefined,
            }
          }
        }
      }
    }
  }
}

/** Field values that plugins react to. */
const words = [
  'default',
  'n',
  'kubernetes.io/kube-apiserver-client',
  'true',
  'kubernetes.io/config.mirror',
  'pod-security.kubernetes.io/enforce',
  'restricted',
  'NoExecute',
  'example.com/gpu',
  'Always',
  'windows',
  'system-node-critical',
  '-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----',
]
