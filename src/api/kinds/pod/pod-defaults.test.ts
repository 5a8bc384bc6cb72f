import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod, PodSpec, PodTemplate } from '../../generated/core/v1.ts'
import { podRules, podTemplateRules } from './pod-rules.ts'
import { pullPolicyFor } from './image-reference.ts'
import { container, pod, podWith, rulesUnderTest, template } from '../testdata/pods.ts'

const { withDefaults } = rulesUnderTest(podRules)

/** The pod spec after defaulting. */
function specOf(given: object): PodSpec {
  return (withDefaults(given) as Pod).spec ?? { containers: [] }
}

/**
 * The first container of a pod with these fields after defaulting, without the fields that every container
 * has.
 */
function defaulted(fields: object, spec: object = {}): object {
  const {
    containers: [first],
  } = specOf(podWith(fields, spec))
  return Object.fromEntries(Object.entries(first ?? {}).filter(([key]) => !commonFields.has(key)))
}

const commonFields = new Set([
  'name',
  'image',
  'imagePullPolicy',
  'terminationMessagePath',
  'terminationMessagePolicy',
])

function checkVolume(source: object, expected: object): void {
  const { volumes = [] } = specOf(pod({ volumes: [{ name: 'v', ...source }] }))
  assert.deepEqual(volumes[0], { name: 'v', ...expected })
}

test('defaults of Pod', () => {
  assert.deepEqual(withDefaults(pod()), {
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      containers: [
        {
          name: 'a',
          image: 'nginx',
          imagePullPolicy: 'Always',
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
          resources: {},
        },
      ],
      dnsPolicy: 'ClusterFirst',
      restartPolicy: 'Always',
      schedulerName: 'default-scheduler',
      securityContext: {},
      terminationGracePeriodSeconds: 30,
      enableServiceLinks: true,
    },
  })
})

test('defaults of PodTemplate', () => {
  const rules = rulesUnderTest(podTemplateRules)
  const limited = container({ resources: { limits: { cpu: '1' } }, ports: [{ containerPort: 80 }] })
  const given = { template: template({ containers: [limited], hostNetwork: true }) }
  const { spec } = (rules.withDefaults(given) as PodTemplate).template ?? {}
  assert.equal(spec?.enableServiceLinks, undefined)
  assert.deepEqual(spec?.containers[0]?.resources, { limits: { cpu: '1' } })
  assert.deepEqual(spec?.containers[0]?.ports, [{ containerPort: 80, protocol: 'TCP' }])
})

test('imagePullPolicy defaults to Always for mutable tags', () => {
  const cases = {
    Always: ['nginx', 'nginx:latest', 'a/b', 'localhost:5000/a', 'registry.example.com/a/b:latest@sha256:00'],
    IfNotPresent: ['nginx:1', 'nginx@sha256:00', 'localhost:5000/a:1', '', 'Nginx', 'a b', 'a//b'],
  }
  for (const [policy, images] of Object.entries(cases)) {
    for (const image of images) assert.equal(pullPolicyFor(image), policy, image)
  }
})

test('serviceAccount and serviceAccountName default to each other', () => {
  const names = (spec: object): unknown[] => {
    const { serviceAccount, serviceAccountName } = specOf(pod(spec))
    return [serviceAccountName, serviceAccount]
  }
  assert.deepEqual(names({ serviceAccount: 'x' }), ['x', 'x'])
  assert.deepEqual(names({ serviceAccountName: 'x' }), ['x', 'x'])
  assert.deepEqual(names({ serviceAccountName: 'x', serviceAccount: 'y' }), ['x', 'x'])
})

test('requests default to limits, and quantities are rounded up', () => {
  const resources = (given: object): unknown =>
    (defaulted({ resources: given }) as { resources: unknown }).resources
  assert.deepEqual(resources({ limits: { cpu: '1', memory: '2' }, requests: { cpu: '500m' } }), {
    limits: { cpu: '1', memory: '2' },
    requests: { cpu: '500m', memory: '2' },
  })
  assert.deepEqual(resources({ requests: { cpu: '100u' } }), { requests: { cpu: '1m' } })
})

test('pod-level requests default from limits and containers', () => {
  const whole = (ofPod: object, ofContainer: object): unknown => {
    return specOf(podWith({ resources: ofContainer }, { resources: ofPod })).resources
  }
  assert.deepEqual(whole({ limits: { cpu: '2', memory: '1Gi' } }, { requests: { cpu: '1' } }), {
    limits: { cpu: '2', memory: '1Gi' },
    requests: { cpu: '1', memory: '1Gi' },
  })
  assert.deepEqual(whole({ requests: { cpu: '2' } }, {}), { requests: { cpu: '2' } })
  assert.deepEqual(whole({ requests: { cpu: '2' } }, { limits: { 'hugepages-2Mi': '2Mi' } }), {
    requests: { 'cpu': '2', 'hugepages-2Mi': '2Mi' },
    limits: { 'hugepages-2Mi': '2Mi' },
  })
})

test('defaults of ports, environment variables, probes and lifecycle hooks', () => {
  const resources = {}
  assert.deepEqual(defaulted({ ports: [{ containerPort: 80 }] }, { hostNetwork: true }), {
    resources,
    ports: [{ containerPort: 80, protocol: 'TCP', hostPort: 80 }],
  })
  assert.deepEqual(
    defaulted({ env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] }),
    {
      resources,
      env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name', apiVersion: 'v1' } } }],
    },
  )
  assert.deepEqual(
    defaulted({ livenessProbe: { httpGet: { port: 80 }, timeoutSeconds: 0, periodSeconds: 5 } }),
    {
      resources,
      livenessProbe: {
        httpGet: { port: 80, path: '/', scheme: 'HTTP' },
        timeoutSeconds: 1,
        periodSeconds: 5,
        successThreshold: 1,
        failureThreshold: 3,
      },
    },
  )
  assert.deepEqual(defaulted({ lifecycle: { preStop: { httpGet: { port: 80 } } } }), {
    resources,
    lifecycle: { preStop: { httpGet: { port: 80, path: '/', scheme: 'HTTP' } } },
  })
})

test('defaults of volume sources', () => {
  checkVolume({}, { emptyDir: {} })
  checkVolume({ secret: { secretName: 's' } }, { secret: { secretName: 's', defaultMode: 420 } })
  checkVolume({ secret: { defaultMode: 0 } }, { secret: { defaultMode: 0 } })
  checkVolume({ configMap: { name: 'm' } }, { configMap: { name: 'm', defaultMode: 420 } })
  checkVolume({ hostPath: { path: '/' } }, { hostPath: { path: '/', type: '' } })
  checkVolume(
    { projected: { sources: [{ serviceAccountToken: { path: 't' } }] } },
    {
      projected: {
        defaultMode: 420,
        sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 3600 } }],
      },
    },
  )
  checkVolume(
    { downwardAPI: { items: [{ path: 'f', resourceFieldRef: { resource: 'limits.cpu' } }] } },
    {
      downwardAPI: {
        defaultMode: 420,
        items: [{ path: 'f', resourceFieldRef: { resource: 'limits.cpu', divisor: '0' } }],
      },
    },
  )
  checkVolume({ iscsi: { iqn: 'x' } }, { iscsi: { iqn: 'x', iscsiInterface: 'default' } })
  checkVolume(
    { rbd: { image: 'i' } },
    { rbd: { image: 'i', pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' } },
  )
  checkVolume(
    { azureDisk: { diskName: 'd' } },
    {
      azureDisk: { diskName: 'd', cachingMode: 'ReadWrite', fsType: 'ext4', readOnly: false, kind: 'Shared' },
    },
  )
  checkVolume({ scaleIO: {} }, { scaleIO: { storageMode: 'ThinProvisioned', fsType: 'xfs' } })
  checkVolume({ image: { reference: 'a:1' } }, { image: { reference: 'a:1', pullPolicy: 'IfNotPresent' } })
  checkVolume(
    { ephemeral: { volumeClaimTemplate: { spec: {} } } },
    { ephemeral: { volumeClaimTemplate: { spec: { volumeMode: 'Filesystem' } } } },
  )
})
