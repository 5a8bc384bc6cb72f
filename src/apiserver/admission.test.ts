import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject } from '#/api/metadata.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import { Simulation, type SimulatedHost } from '#/platform/simulated.ts'
import { enabledPlugins, readAdmission, type AdmissionOptions } from './admission.ts'
import {
  AdmissionChain,
  type AdmissionPlugin,
  type AdmissionAttributes,
  type Reinvocation,
} from './admission/admission-chain.ts'
import { ConfigurationError } from './admission/plugin-context.ts'
import { startTestServer } from './test-server.ts'

test("the default admission plugins match kube-apiserver's, in order", () => {
  assert.deepEqual(enabledPlugins({}), [
    'NamespaceLifecycle',
    'LimitRanger',
    'ServiceAccount',
    'TaintNodesByCondition',
    'PodSecurity',
    'Priority',
    'DefaultTolerationSeconds',
    'DefaultStorageClass',
    'StorageObjectInUseProtection',
    'PodGroupProtection',
    'PersistentVolumeClaimResize',
    'RuntimeClass',
    'CertificateApproval',
    'CertificateSigning',
    'ClusterTrustBundleAttest',
    'CertificateSubjectRestriction',
    'DefaultIngressClass',
    'PodTopologyLabels',
    'PodGroupWorkloadExists',
    'NodeDeclaredFeatureValidator',
    'JobValidation',
    'PodResizeValidator',
    'MutatingAdmissionPolicy',
    'MutatingAdmissionWebhook',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionWebhook',
    'ResourceQuota',
  ])
})

test('admission plugins are enabled and disabled by name, keep their order, and unknown names are rejected', () => {
  const on = enabledPlugins({
    enable: ['NodeRestriction', 'AlwaysDeny', 'Priority'],
    disable: ['PodSecurity', 'ServiceAccount', 'AlwaysAdmit'],
  })
  assert.deepEqual(on.slice(0, 5), [
    'NamespaceLifecycle',
    'LimitRanger',
    'NodeRestriction',
    'TaintNodesByCondition',
    'Priority',
  ])
  assert.equal(on.at(-1), 'AlwaysDeny')
  const check = (options: AdmissionOptions, message: string): void => {
    assert.throws(
      () => enabledPlugins(options),
      (error: Error) => error instanceof ConfigurationError && error.message === message,
    )
  }
  check(
    { enable: ['Nonsense', '__proto__'] },
    'enable-admission-plugins plugin "Nonsense" is unknown, enable-admission-plugins plugin "__proto__" is unknown',
  )
  check({ disable: ['PodSecurityPolicy'] }, 'disable-admission-plugins plugin "PodSecurityPolicy" is unknown')
  check(
    { enable: ['Priority'], disable: ['Priority'] },
    '[Priority] in enable-admission-plugins and disable-admission-plugins overlapped',
  )
})

async function withFiles(
  files: Readonly<Record<string, string>>,
  work: (host: SimulatedHost) => Promise<void>,
): Promise<void> {
  const simulation = new Simulation({ seed: 1 })
  const host = simulation.host('server')
  await simulation.run(
    (async () => {
      await host.files.makeFolder('/etc/k8ts')
      for (const [path, content] of Object.entries(files)) await host.files.write(path, content)
      await work(host)
    })(),
  )
}

const podSecurityFile = `
apiVersion: pod-security.admission.config.k8s.io/v1
kind: PodSecurityConfiguration
defaults: {enforce: baseline}
`

const admissionFile = `
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: PodSecurity
  path: pod-security.yaml
- name: EventRateLimit
  configuration:
    apiVersion: eventratelimit.admission.k8s.io/v1alpha1
    kind: Configuration
    limits: [{type: Server, qps: 1, burst: 1}]
`

test('AdmissionConfiguration configures plugins inline or by path', async t => {
  const files = { '/etc/k8ts/admission.yaml': admissionFile, '/etc/k8ts/pod-security.yaml': podSecurityFile }
  await withFiles(files, async platform => {
    const admission = await readAdmission(platform.files, {
      enable: ['EventRateLimit'],
      disable: ['ServiceAccount'],
      configurationFile: '/etc/k8ts/admission.yaml',
    })
    const { request } = await startTestServer(t, platform, { admission })
    const event = (name: string): object => ({
      kind: 'Event',
      apiVersion: 'v1',
      metadata: { name },
      involvedObject: {
        namespace: 'default',
      },
      reason: 'x',
      type: 'Normal',
    })
    assert.equal((await request('POST', '/api/v1/namespaces/default/events', event('a'))).code, 201)
    assert.equal((await request('POST', '/api/v1/namespaces/default/events', event('b'))).code, 429)
    const privileged = { containers: [{ name: 'a', image: 'x', securityContext: { privileged: true } }] }
    const refused = await request('POST', '/api/v1/namespaces/default/pods', {
      kind: 'Pod',
      apiVersion: 'v1',
      metadata: { name: 'p' },
      spec: privileged,
    })
    assert.match(refused.body.message ?? '', /violates PodSecurity "baseline:latest"/u)
  })
})

test('the legacy admission configuration format configures ImagePolicyWebhook and PodNodeSelector', async () => {
  await withFiles(
    {
      '/etc/k8ts/old.yaml': 'podNodeSelectorPluginConfig: {clusterDefaultNodeSelector: "a=b"}',
    },
    async ({ files }) => {
      await assert.doesNotReject(
        readAdmission(files, { configurationFile: '/etc/k8ts/old.yaml', enable: ['PodNodeSelector'] }),
      )
    },
  )
})

test('an unreadable or invalid AdmissionConfiguration prevents the server from starting', async () => {
  const check = async (content: string | undefined, expected: RegExp): Promise<void> => {
    await withFiles(content === undefined ? {} : { '/etc/k8ts/a.yaml': content }, async ({ files }) => {
      await assert.rejects(
        readAdmission(files, { configurationFile: '/etc/k8ts/a.yaml' }),
        (error: Error) => error instanceof ConfigurationError && expected.test(error.message),
      )
    })
  }
  await check(undefined, /cannot read the admission configuration \/etc\/k8ts\/a.yaml/u)
  await check('{', /cannot read the admission configuration/u)
  await check('kind: Pod', /kind must be AdmissionConfiguration/u)
  await check('{kind: AdmissionConfiguration, apiVersion: v1}', /unsupported apiVersion "v1"/u)
  await check(
    '{kind: AdmissionConfiguration, apiVersion: apiserver.config.k8s.io/v1, plugin: []}',
    /unknown fields: plugin/u,
  )
  await check(admissionFile, /cannot read the admission configuration .*pod-security.yaml/u)
})

function request(object: KubernetesObject, fields: Partial<AdmissionAttributes> = {}): AdmissionAttributes {
  return {
    operation: 'CREATE',
    resource: pods,
    subresource: '',
    namespace: 'default',
    name: 'p',
    user: {
      username: 'u',
      groups: [],
    },
    dryRun: false,
    object,
    oldObject: undefined,
    options: {},
    warn: () => undefined,
    addAuditAnnotation: () => undefined,
    ...fields,
  }
}

/** A mutating plugin that appends its name to the object's kind and runs `also`. */
function marking(
  name: string,
  also: (reinvocation: Reinvocation) => void = () => undefined,
): AdmissionPlugin {
  return {
    name,
    mutate: ({ object }, reinvocation) => {
      also(reinvocation)
      return { metadata: {}, ...object, kind: `${object?.kind ?? ''}${name}` }
    },
  }
}

test('each mutating plugin sees the changes of the plugins before it', async () => {
  assert.equal(
    (await new AdmissionChain([marking('a'), marking('b')]).mutate(request({ metadata: {}, kind: '-' })))
      ?.kind,
    '-ab',
  )
})

test('a plugin can request one reinvocation of the mutating chain', async () => {
  const passes: boolean[] = []
  const asking = marking('b', reinvocation => {
    passes.push(reinvocation.isReinvocation)
    reinvocation.request()
  })
  assert.equal(
    (await new AdmissionChain([marking('a'), asking]).mutate(request({ metadata: {}, kind: '-' })))?.kind,
    '-abab',
  )
  assert.deepEqual(passes, [false, true])
})

test('handles is called once per resource, operation and subresource', async () => {
  let asked = 0
  const seen: string[] = []
  const picky: AdmissionPlugin = {
    name: 'picky',
    handles: ({ operation, subresource }) => {
      asked++
      return operation === 'CREATE' && subresource === ''
    },
    validate: ({ operation, subresource }) => void seen.push(`${operation}/${subresource}`),
  }
  const admission = new AdmissionChain([picky])
  for (const operation of ['CREATE', 'UPDATE', 'CREATE', 'DELETE', 'CREATE'] as const)
    await admission.validate(request({ metadata: {} }, { operation }))
  await admission.validate(request({ metadata: {} }, { subresource: 'binding' }))
  await admission.validate(request({ metadata: {} }, { resource: { ...pods } }))
  assert.deepEqual([asked, seen], [5, ['CREATE/', 'CREATE/', 'CREATE/', 'CREATE/']])
})

test('the first rejection ends the admission chain', async () => {
  const refusing: AdmissionPlugin = {
    name: 'refusing',
    validate: () => {
      throw new Error('no')
    },
  }
  let isReached = false
  const next: AdmissionPlugin = { name: 'next', validate: () => void (isReached = true) }
  await assert.rejects(new AdmissionChain([refusing, next]).validate(request({ metadata: {} })), /no/u)
  assert.equal(isReached, false)
})
