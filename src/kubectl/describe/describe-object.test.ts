import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isApiError } from '#/api/errors.ts'
import { groupVersionKindOf } from '#/api/group-version.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import { describeObject } from './describe-object.ts'
import {
  builtinResourceOf,
  clientOver,
  readTranscript,
  startStoredCluster,
  widgets,
} from './testdata/stored-cluster.ts'

/** When and where the transcripts were recorded, with kubectl 1.36.4. */
const recorded = { nowMs: Date.UTC(2026, 10, 19, 12), timeZone: 'Europe/Berlin', chunkSize: 2 }

const administrator = { username: 'admin', groups: ['system:masters'] }

test('a description is that of kubectl', async t => {
  const { server, objects } = await startStoredCluster(t)
  const client = clientOver({ handle: server.handle, user: administrator })
  for (const [name, all] of objects) {
    const sections = sectionsOf(await readTranscript(name))
    assert.deepEqual([...sections.keys()], all.filter(isDescribed).map(commandOf))
    for (const object of all.filter(isDescribed)) {
      const command = commandOf(object)
      await t.test(command, async () => {
        const text = await describe(object, client)
        assert.equal(withoutVersion(text), withoutVersion(sections.get(command) ?? ''))
      })
    }
  }
})

test('a description has what the user may read', async t => {
  const { server, objects } = await startStoredCluster(t)
  const client = clientOver({ handle: server.handle, user: { username: 'bob', groups: [] } })
  const find = (command: string): KubernetesObject => {
    const object = [...objects.values()].flat().find(each => commandOf(each) === command)
    assert.ok(object, command)
    return object
  }
  const node = await describe(find('$ kubectl describe node/node-1'), client)
  assert.match(node, /^Lease: +Failed to get lease: leases\.coordination\.k8s\.io "node-1" is forbidden: /m)
  assert.match(node, /\nPods: +not authorized\nEvents: +<none>\n$/)
  assert.doesNotMatch(node, /ResourceSlices/)
  const replicaSet = await describe(find('$ kubectl describe replicaset.apps/web-1 -n work'), client)
  assert.match(replicaSet, /^Pods Status: +error in fetching pods: pods is forbidden: /m)
  const ingress = await describe(find('$ kubectl describe ingress.networking.k8s.io/main -n net'), client)
  assert.match(
    ingress,
    /^Default backend: +web:80 \(<error: endpointslices\.discovery\.k8s\.io is forbidden: /m,
  )
  const configMap = find('$ kubectl describe configmap/settings -n shop')
  await assert.rejects(describe(configMap, client), error => isApiError(error, 'Forbidden'))
})

test('an autoscaler of version 1 is described if the server has no other', async t => {
  const { server } = await startStoredCluster(t)
  // A user who may not read version 2.
  const client = clientOver({ handle: server.handle, user: { username: 'bob', groups: [] } })
  const autoscaler = {
    apiVersion: 'autoscaling/v1',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'all', namespace: 'work', creationTimestamp: '2016-03-04T05:06:07Z' },
    spec: {
      scaleTargetRef: { kind: 'Deployment', name: 'web' },
      targetCPUUtilizationPercentage: 80,
      maxReplicas: 9,
    },
    status: { currentCPUUtilizationPercentage: 40, currentReplicas: 3, desiredReplicas: 4 },
  }
  const text = await describeObject(autoscaler, { ...recorded, client, showEvents: false })
  assert.deepEqual(text.split('\n'), [
    'Name:                     all',
    'Namespace:                work',
    'Labels:                   <none>',
    'Annotations:              <none>',
    'CreationTimestamp:        Fri, 04 Mar 2016 06:06:07 +0100',
    'Reference:                Deployment/web',
    'Target CPU utilization:   80%',
    'Current CPU utilization:  40%',
    'Min replicas:             <unset>',
    'Max replicas:             9',
    'Deployment pods:          3 current / 4 desired',
    '',
  ])
})

async function describe(object: KubernetesObject, client: Client): Promise<string> {
  const resource = builtinResourceOf(object) ?? widgets
  const { namespace, name = '' } = object.metadata
  const stored = await client.get(resource, { namespace, name })
  return describeObject(stored, { ...recorded, client, showEvents: true })
}

/** Objects without a time of creation are there for others. */
function isDescribed({ metadata }: KubernetesObject): boolean {
  return metadata.creationTimestamp !== undefined
}

function commandOf(object: KubernetesObject): string {
  const { group = '', kind = '' } = groupVersionKindOf(object) ?? {}
  const { name = '', namespace } = object.metadata
  const type = group === '' ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`
  return `$ kubectl describe ${type}/${name}${namespace === undefined ? '' : ` -n ${namespace}`}`
}

function sectionsOf(transcript: string): ReadonlyMap<string, string> {
  const sections = transcript.split(/^(?=\$ kubectl )/m).map(section => {
    const end = section.indexOf('\n')
    return [section.slice(0, end), section.slice(end + 1)] as const
  })
  return new Map(sections)
}

/** Resource versions count the writes of the server. */
function withoutVersion(text: string): string {
  return text.replace(/^( *Resource Version: +)\d+$/gm, '$1')
}
