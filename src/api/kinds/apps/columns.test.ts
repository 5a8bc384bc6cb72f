import { test } from 'node:test'
import { columnsUnderTest } from '../testdata/check-columns.ts'

const containers = [
  { name: 'x', image: 'x:1' },
  { name: 'y', image: 'y:1' },
]
const template = { spec: { nodeSelector: { disk: 'ssd' }, containers } }
const matchExpressions = [{ key: 'z', operator: 'In', values: ['y', 'x'] }]
const selector = { matchLabels: { 'a-b': '2', 'a': '1' }, matchExpressions }

test('the Deployment table shows rollout progress', () => {
  const { row, check } = columnsUnderTest('apps', 'Deployment')
  row({}, 'a', '0/0', 0, 0, '5m', '', '', '')
  row(
    {
      spec: { replicas: 3, selector, template },
      status: { readyReplicas: 2, updatedReplicas: 1, availableReplicas: 2 },
    },
    'a',
    '2/3',
    1,
    2,
    '5m',
    'x,y',
    'x:1,y:1',
    'a=1,a-b=2,z in (x,y)',
  )
  check({ spec: { selector: {} } }, { Selector: '' })
  check(
    { spec: { selector: { matchExpressions: [{ key: 'z', operator: 'Near' }] } } },
    { Selector: '<invalid>' },
  )
})

test('tables of ReplicaSet, StatefulSet and DaemonSet', () => {
  const replicaSets = columnsUnderTest('apps', 'ReplicaSet')
  replicaSets.row({}, 'a', 0, 0, 0, '5m', '', '', '<none>')
  replicaSets.row(
    { spec: { replicas: 3, selector, template }, status: { replicas: 2, readyReplicas: 1 } },
    'a',
    3,
    2,
    1,
    '5m',
    'x,y',
    'x:1,y:1',
    'a=1,a-b=2,z in (x,y)',
  )
  replicaSets.check({ spec: { selector: {} } }, { Selector: '<none>' })
  replicaSets.check(
    { spec: { selector: { matchExpressions: [{ operator: 'In' }] } } },
    { Selector: '<error>' },
  )
  replicaSets.check({ spec: { selector: { matchLabels: { '-': '' } } } }, { Selector: '<error>' })
  const statefulSets = columnsUnderTest('apps', 'StatefulSet')
  statefulSets.row(
    { spec: { replicas: 3, template }, status: { readyReplicas: 1 } },
    'a',
    '1/3',
    '5m',
    'x,y',
    'x:1,y:1',
  )
  const daemonSets = columnsUnderTest('apps', 'DaemonSet')
  daemonSets.row({}, 'a', 0, 0, 0, 0, 0, '<none>', '5m', '', '', '<none>')
  const status = {
    desiredNumberScheduled: 5,
    currentNumberScheduled: 4,
    numberReady: 3,
    updatedNumberScheduled: 2,
    numberAvailable: 1,
  }
  daemonSets.row(
    { spec: { selector: { matchLabels: { app: 'x' } }, template }, status },
    'a',
    5,
    4,
    3,
    2,
    1,
    'disk=ssd',
    '5m',
    'x,y',
    'x:1,y:1',
    'app=x',
  )
})

test('the ControllerRevision table shows its controller', () => {
  const { row, check } = columnsUnderTest('apps', 'ControllerRevision')
  row({ revision: 7 }, 'a', '<none>', 7, '5m')
  const owned = (owner: object): object => ({ metadata: { ownerReferences: [{ kind: 'Other' }, owner] } })
  const controller = { controller: true, name: 'web' }
  check(owned({ ...controller, apiVersion: 'apps/v1', kind: 'StatefulSet' }), {
    Controller: 'statefulset.apps/web',
  })
  check(owned({ ...controller, apiVersion: 'v1', kind: 'Pod' }), { Controller: 'pod/web' })
  check(owned({ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web' }), { Controller: '<none>' })
})
