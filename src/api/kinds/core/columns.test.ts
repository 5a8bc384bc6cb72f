import { test } from 'node:test'
import { ago, columnsUnderTest } from '../testdata/check-columns.ts'

const metadata = { deletionTimestamp: ago(1) }

test('tables of PodTemplate and ReplicationController', () => {
  const template = {
    metadata: { labels: { 'b': '2', 'a-b': '3', 'a': '1' } },
    spec: {
      containers: [
        { name: 'x', image: 'x:1' },
        { name: 'y', image: 'y:1' },
      ],
    },
  }
  const templates = columnsUnderTest('', 'PodTemplate')
  templates.row({}, 'a', '', '', '<none>')
  // Pairs are sorted as whole strings; a hyphen sorts before an equals sign.
  templates.row({ template }, 'a', 'x,y', 'x:1,y:1', 'a-b=3,a=1,b=2')
  const controllers = columnsUnderTest('', 'ReplicationController')
  controllers.row({}, 'a', 0, 0, 0, '5m', '', '', '<none>')
  controllers.row(
    {
      spec: { replicas: 3, selector: { app: 'x' }, template },
      status: { replicas: 2, readyReplicas: 1 },
    },
    'a',
    3,
    2,
    1,
    '5m',
    'x,y',
    'x:1,y:1',
    'app=x',
  )
})

test('the Service table shows its addresses', () => {
  const { row, check } = columnsUnderTest('', 'Service')
  const ports = [{ port: 80, protocol: 'TCP' }]
  row(
    { spec: { type: 'ClusterIP', clusterIPs: ['10.0.0.1'], ports, selector: { app: 'x' } } },
    'a',
    'ClusterIP',
    '10.0.0.1',
    '<none>',
    '80/TCP',
    '5m',
    'app=x',
  )
  row(
    { spec: { type: 'ClusterIP', clusterIP: 'None' } },
    'a',
    'ClusterIP',
    'None',
    '<none>',
    '<none>',
    '5m',
    '<none>',
  )
  row(
    { spec: { type: 'ExternalName', externalName: 'x.example' } },
    'a',
    'ExternalName',
    '<none>',
    'x.example',
    '<none>',
    '5m',
    '<none>',
  )
  const external = (spec: object, text: string, ...ingress: readonly object[]): void =>
    check({ spec, status: { loadBalancer: { ingress } } }, { 'External-IP': text })
  external({}, '<unknown>')
  external({ type: 'NodePort' }, '<none>')
  external({ type: 'NodePort', externalIPs: ['1.1.1.1', '1.1.1.2'] }, '1.1.1.1,1.1.1.2')
  external({ type: 'LoadBalancer' }, '<pending>')
  external({ type: 'LoadBalancer' }, 'a-long-host-name.example.com', {
    hostname: 'a-long-host-name.example.com',
  })
  external(
    { type: 'LoadBalancer' },
    '1.1.1.1,2.2.2.2,x',
    { ip: '2.2.2.2' },
    { ip: '1.1.1.1', hostname: 'y' },
    { hostname: 'x' },
    { ip: '2.2.2.2' },
    {},
  )
  external({ type: 'LoadBalancer', externalIPs: ['3.3.3.3'] }, '3.3.3.3')
  external({ type: 'LoadBalancer', externalIPs: ['3.3.3.3'] }, '1.1.1.1,3.3.3.3', { ip: '1.1.1.1' })
})

test('the Service table shows ports and node ports', () => {
  const { check } = columnsUnderTest('', 'Service')
  const ports = [
    { port: 80, nodePort: 30_080, protocol: 'TCP' },
    { port: 53, protocol: 'UDP' },
  ]
  check({ spec: { ports } }, { 'Port(s)': '80:30080/TCP,53/UDP' })
})

test('the Endpoints table shows the first three addresses', () => {
  const { row, check } = columnsUnderTest('', 'Endpoints')
  const addresses = (...ips: readonly string[]): object[] => ips.map(ip => ({ ip }))
  row({}, 'a', '<none>', '5m')
  const shown = (text: string, ...subsets: readonly object[]): void => check({ subsets }, { Endpoints: text })
  shown('', {})
  shown('1.1.1.1', { addresses: addresses('1.1.1.1') })
  shown('1.1.1.1:80,[fd00::1]:80', { addresses: addresses('1.1.1.1', 'fd00::1'), ports: [{ port: 80 }] })
  shown('1.1.1.1:80,1.1.1.2:80,1.1.1.1:81 + 1 more...', {
    addresses: addresses('1.1.1.1', '1.1.1.2'),
    ports: [{ port: 80 }, { port: 81 }],
  })
  shown(
    '1.1.1.1:80,1.1.1.2,1.1.1.3',
    { addresses: addresses('1.1.1.1'), ports: [{ port: 80 }] },
    { addresses: addresses('1.1.1.2', '1.1.1.3'), notReadyAddresses: addresses('1.1.1.4') },
  )
})

test('the Node table shows status, roles and system information', () => {
  const { row, check } = columnsUnderTest('', 'Node')
  row({}, 'a', 'Unknown', '<none>', '5m', '', '<none>', '<none>', '<unknown>', '<unknown>', '<unknown>')
  row(
    {
      status: {
        conditions: [
          { type: 'MemoryPressure', status: 'False' },
          { type: 'Ready', status: 'True' },
        ],
        addresses: [
          { type: 'Hostname', address: 'n' },
          { type: 'InternalIP', address: '10.0.0.1' },
          { type: 'InternalIP', address: 'fd00::1' },
          { type: 'ExternalIP', address: '1.1.1.1' },
        ],
        nodeInfo: {
          kubeletVersion: 'v1.36.0',
          osImage: 'Debian',
          kernelVersion: '6.1',
          architecture: 'amd64',
          containerRuntimeVersion: 'containerd://2.0',
        },
      },
    },
    'a',
    'Ready',
    '<none>',
    '5m',
    'v1.36.0',
    '10.0.0.1',
    '1.1.1.1',
    'Debian',
    '6.1 (amd64)',
    'containerd://2.0',
  )
  const state = (status: string): object => ({ conditions: [{ type: 'Ready', status }] })
  check({ status: state('False') }, { Status: 'NotReady' })
  check({ status: state('Unknown') }, { Status: 'NotReady' })
  check({ spec: { unschedulable: true }, status: state('True') }, { Status: 'Ready,SchedulingDisabled' })
  check({ spec: { unschedulable: true } }, { Status: 'Unknown,SchedulingDisabled' })
  const role = 'node-role.kubernetes.io/'
  const labels = { [`${role}worker`]: '', [`${role}control-plane`]: 'x', [role]: '', app: 'x' }
  check({ metadata: { labels } }, { Roles: 'control-plane,worker' })
  check(
    { metadata: { labels: { 'kubernetes.io/role': 'master', [`${role}master`]: '' } } },
    { Roles: 'master' },
  )
  check({ metadata: { labels: { 'kubernetes.io/role': '' } } }, { Roles: '<none>' })
})

test('the Event table', () => {
  const { row, check } = columnsUnderTest('', 'Event')
  row(
    {
      involvedObject: { kind: 'Pod', name: 'web', fieldPath: 'spec.containers{c}' },
      type: 'Warning',
      reason: 'BackOff',
      message: ' back off\n',
      count: 4,
      firstTimestamp: ago(3600),
      lastTimestamp: ago(30),
      source: { component: 'kubelet', host: 'n1' },
    },
    '30s',
    'Warning',
    'BackOff',
    'pod/web',
    'spec.containers{c}',
    'kubelet, n1',
    'back off',
    '60m',
    4,
    'a',
  )
  row({}, '<unknown>', '', '', '', '', '', '', '<unknown>', 1, 'a')
  const eventTime = ago(90).replace('Z', '.000250Z')
  check(
    { eventTime, reportingComponent: 'x', reportingInstance: 'x-1' },
    { 'Last Seen': '89s', 'First Seen': '89s', 'Source': 'x, x-1', 'Count': 1 },
  )
  check(
    { eventTime, count: 9, series: { count: 3, lastObservedTime: ago(10).replace('Z', '.000000Z') } },
    { 'Last Seen': '10s', 'First Seen': '89s', 'Count': 3 },
  )
  check(
    { firstTimestamp: ago(20), series: {} },
    { 'Last Seen': '<unknown>', 'First Seen': '20s', 'Count': 0 },
  )
  check({ involvedObject: { kind: 'Node' }, reportingComponent: 'x' }, { Object: 'node', Source: 'x' })
  columnsUnderTest('events.k8s.io', 'Event').check(
    { involvedObject: { kind: 'Pod', name: 'b' } },
    { Object: 'pod/b' },
  )
})

test('tables of PersistentVolume and PersistentVolumeClaim', () => {
  const volumes = columnsUnderTest('', 'PersistentVolume')
  volumes.row({}, 'a', '0', '', '', '', '', '', '<unset>', '', '5m', '<unset>')
  volumes.row(
    {
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOncePod', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Retain',
        claimRef: { namespace: 'n', name: 'c' },
        storageClassName: 's',
        volumeAttributesClassName: 'gold',
        volumeMode: 'Block',
      },
      status: { phase: 'Bound', reason: 'why' },
    },
    'a',
    '1Gi',
    'RWO,RWX,RWOP',
    'Retain',
    'Bound',
    'n/c',
    's',
    'gold',
    'why',
    '5m',
    'Block',
  )
  volumes.check({ metadata, status: { phase: 'Bound' } }, { Status: 'Terminating' })
  const claims = columnsUnderTest('', 'PersistentVolumeClaim')
  claims.row(
    {
      spec: { resources: { requests: { storage: '1Gi' } } },
      status: { phase: 'Pending', accessModes: ['ReadOnlyMany'] },
    },
    'a',
    'Pending',
    '',
    '',
    '',
    '',
    '<unset>',
    '5m',
    '<unset>',
  )
  claims.row(
    {
      spec: { volumeName: 'v', storageClassName: 's', volumeMode: 'Filesystem' },
      status: { phase: 'Bound', capacity: { storage: '2Gi' }, accessModes: ['ReadOnlyMany'] },
    },
    'a',
    'Bound',
    'v',
    '2Gi',
    'ROX',
    's',
    '<unset>',
    '5m',
    'Filesystem',
  )
  claims.check({ metadata, spec: { volumeName: 'v' } }, { Status: 'Terminating', Capacity: '0' })
  const annotations = { 'volume.beta.kubernetes.io/storage-class': 'old' }
  claims.check({ metadata: { annotations }, spec: { storageClassName: 's' } }, { StorageClass: 'old' })
})

test('the ResourceQuota table separates requests and limits', () => {
  const { row } = columnsUnderTest('', 'ResourceQuota')
  row({}, 'a', '', '', '5m')
  const hard = { 'pods': '4', 'limits.cpu': '2', 'cpu': '1', 'limits.memory': '1Gi', 'constructor': '1' }
  row(
    { status: { hard, used: { pods: '1' } } },
    'a',
    'constructor: 0/1, cpu: 0/1, pods: 1/4',
    'limits.cpu: 0/2, limits.memory: 0/1Gi',
    '5m',
  )
})

test('tables of ConfigMap and Secret show the number of entries', () => {
  columnsUnderTest('', 'ConfigMap').row({ data: { x: '', y: '' }, binaryData: { z: '' } }, 'a', 3, '5m')
  columnsUnderTest('', 'Secret').row({ type: 'Opaque', data: { x: '' } }, 'a', 'Opaque', 1, '5m')
  columnsUnderTest('', 'ServiceAccount').row({}, 'a', '5m')
  columnsUnderTest('', 'Namespace').row({ status: { phase: 'Active' } }, 'a', 'Active', '5m')
  columnsUnderTest('', 'LimitRange').row({}, 'a', '2026-05-04T11:55:00Z')
})

test('the ComponentStatus table shows health', () => {
  const { row } = columnsUnderTest('', 'ComponentStatus')
  row({}, 'a', 'Unknown', '', '')
  row({ conditions: [{ type: 'Healthy', status: 'True', message: 'ok' }] }, 'a', 'Healthy', 'ok', '')
  row(
    { conditions: [{ type: 'x' }, { type: 'Healthy', status: 'False', error: 'gone' }] },
    'a',
    'Unhealthy',
    '',
    'gone',
  )
})
