import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Age } from '../age.ts'
import { builtinResources } from '../builtin.ts'
import { columnsOf } from '../columns.ts'
import type { Column, KindColumns } from '../table-columns.ts'
import { kindColumnsOf } from './columns.ts'
import { ago, columnsUnderTest } from './testdata/check-columns.ts'

/** `Name:name, Desired#, Suspend?, Created At@, +IP`: format, integer, boolean, date, wide. */
function headerOf({ columns }: KindColumns): string {
  return columns.map(writeColumn).join(', ')
}

const typeSigns = { string: '', integer: '#', number: '.', boolean: '?', date: '@' } as const

function writeColumn({ name, type, format, priority }: Column): string {
  return `${priority === 0 ? '' : '+'}${name}${typeSigns[type]}${format === '' ? '' : `:${format}`}`
}

/** The columns of Kubernetes v1.36. */
const headers: Readonly<Record<string, string>> = {
  APIService: 'Name:name, Service, Available, Age',
  CSIDriver:
    'Name:name, AttachRequired?, PodInfoOnMount?, ' +
    'StorageCapacity?, TokenRequests, RequiresRepublish?, Modes, Age',
  CSINode: 'Name:name, Drivers#, Age',
  CSIStorageCapacity: 'Name:name, Created At@',
  CertificateSigningRequest: 'Name:name, Age, SignerName, Requestor, RequestedDuration, Condition',
  ClusterRole: 'Name:name, Created At@',
  ClusterRoleBinding: 'Name:name, Role, Age, +Users, +Groups, +ServiceAccounts',
  ClusterTrustBundle: 'Name:name, SignerName',
  ComponentStatus: 'Name:name, Status, Message, Error',
  ConfigMap: 'Name:name, Data, Age',
  ControllerRevision: 'Name:name, Controller, Revision, Age',
  CronJob:
    'Name:name, Schedule, Timezone, Suspend?, Active#, Last Schedule, Age, ' +
    '+Containers, +Images, +Selector',
  CustomResourceDefinition: 'Name:name, Created At@',
  DaemonSet:
    'Name:name, Desired#, Current#, Ready#, Up-to-date#, ' +
    'Available#, Node Selector, Age, +Containers, +Images, +Selector',
  Deployment: 'Name:name, Ready, Up-to-date, Available, Age, +Containers, +Images, +Selector',
  DeviceClass: 'Name:name, Age',
  DeviceTaintRule: 'Name:name, Key, Value, Effect, TimeAdded, Age',
  EndpointSlice: 'Name:name, AddressType, Ports, Endpoints, Age',
  Endpoints: 'Name:name, Endpoints, Age',
  Event: 'Last Seen, Type, Reason, Object, +Subobject, +Source, Message, +First Seen, +Count, +Name:name',
  FlowSchema: 'Name:name, PriorityLevel, MatchingPrecedence, DistinguisherMethod, Age, MissingPL',
  HorizontalPodAutoscaler: 'Name:name, Reference, Targets, MinPods, MaxPods, Replicas, Age',
  IPAddress: 'Name:name, ParentRef',
  Ingress: 'Name:name, Class, Hosts, Address, Ports, Age',
  IngressClass: 'Name:name, Controller, Parameters, Age',
  Job: 'Name:name, Status, Completions, Duration, Age, +Containers, +Images, +Selector',
  Lease: 'Name:name, Holder, Age',
  LeaseCandidate: 'Name:name, LeaseName, BinaryVersion, EmulationVersion, Age',
  LimitRange: 'Name:name, Created At@',
  MutatingAdmissionPolicy: 'Name:name, Mutations#, ParamKind, Age',
  MutatingAdmissionPolicyBinding: 'Name:name, PolicyName, ParamRef, Age',
  MutatingWebhookConfiguration: 'Name:name, Webhooks#, Age',
  Namespace: 'Name:name, Status, Age',
  NetworkPolicy: 'Name:name, Pod-Selector, Age',
  Node:
    'Name:name, Status, Roles, Age, Version, +Internal-IP, ' +
    '+External-IP, +OS-Image, +Kernel-Version, +Container-Runtime',
  PersistentVolume:
    'Name:name, Capacity, Access Modes, Reclaim Policy, Status, ' +
    'Claim, StorageClass, VolumeAttributesClass, Reason, Age, +VolumeMode',
  PersistentVolumeClaim:
    'Name:name, Status, Volume, Capacity, Access Modes, ' +
    'StorageClass, VolumeAttributesClass, Age, +VolumeMode',
  Pod: 'Name:name, Ready, Status, Restarts, Age, +IP, +Node, +Nominated Node, +Readiness Gates',
  PodCertificateRequest:
    'Name:name, PodName, ServiceAccountName, ' + 'NodeName, SignerName, State, UnverifiedUserAnnotations',
  PodDisruptionBudget: 'Name:name, Min Available, Max Unavailable, Allowed Disruptions#, Age',
  PodGroup: 'Name:name, Policy, Workload, Status, Age',
  PodTemplate: 'Name:name, Containers, Images, Pod Labels',
  PriorityClass: 'Name:name, Value#, Global-Default?, Age, PreemptionPolicy',
  PriorityLevelConfiguration:
    'Name:name, Type, NominalConcurrencyShares, Queues, HandSize, ' + 'QueueLengthLimit, Age',
  ReplicaSet: 'Name:name, Desired#, Current#, Ready#, Age, +Containers, +Images, +Selector',
  ReplicationController: 'Name:name, Desired#, Current#, Ready#, Age, +Containers, +Images, +Selector',
  ResourceClaim: 'Name:name, State, Age',
  ResourceClaimTemplate: 'Name:name, Age',
  ResourcePoolStatusRequest:
    'Name:name, Driver, Total, Available, ' + 'Allocated, Unavailable, Errors, Pools#, Status, Completed',
  ResourceQuota: 'Name:name, Request, Limit, Age',
  ResourceSlice: 'Name:name, Node, Driver, Pool, Age',
  Role: 'Name:name, Created At@',
  RoleBinding: 'Name:name, Role, Age, +Users, +Groups, +ServiceAccounts',
  RuntimeClass: 'Name:name, Handler, Age',
  Secret: 'Name:name, Type, Data, Age',
  Service: 'Name:name, Type, Cluster-IP, External-IP, Port(s), Age, +Selector',
  ServiceAccount: 'Name:name, Age',
  ServiceCIDR: 'Name:name, CIDRs, Age',
  StatefulSet: 'Name:name, Ready, Age, +Containers, +Images',
  StorageClass: 'Name:name, Provisioner, ReclaimPolicy, VolumeBindingMode, AllowVolumeExpansion, Age',
  StorageVersion: 'Name:name, CommonEncodingVersion, StorageVersions, Age',
  StorageVersionMigration: 'Name, Resource, Status',
  ValidatingAdmissionPolicy: 'Name:name, Validations#, ParamKind, Age',
  ValidatingAdmissionPolicyBinding: 'Name:name, PolicyName, ParamRef, Age',
  ValidatingWebhookConfiguration: 'Name:name, Webhooks#, Age',
  VolumeAttachment: 'Name:name, Attacher:name, PV, Node, Attached?, Age',
  VolumeAttributesClass: 'Name:name, DriverName, Age',
  Workload: 'Name:name, Age',
}

test("every listable kind has Kubernetes' columns", () => {
  const listed = builtinResources().filter(resource => resource.verbs.includes('list'))
  const found = Object.fromEntries(listed.map(resource => [resource.kind, headerOf(columnsOf(resource))]))
  assert.deepEqual(found, headers)
  assert.ok(listed.every(resource => resource.columns !== undefined))
})

test('every column has a description', () => {
  for (const resource of builtinResources()) {
    for (const { description } of columnsOf(resource).columns) assert.match(description, /^[A-Z].*\.$/)
  }
})

test('an empty object has a cell in every column', () => {
  for (const resource of builtinResources()) {
    const { columns, cells } = columnsOf(resource)
    for (const object of [{ metadata: {} }, { metadata: {}, spec: {}, status: {} }]) {
      const row = cells(object)
      assert.equal(row.length, columns.length, resource.kind)
      assert.ok(
        row.every(cell => cell instanceof Age || ['string', 'number', 'boolean'].includes(typeof cell)),
        resource.kind,
      )
    }
  }
})

test('unlistable kinds and inherited property names have no columns', () => {
  assert.equal(kindColumnsOf('authentication.k8s.io', 'TokenReview'), undefined)
  assert.equal(kindColumnsOf('', 'Binding'), undefined)
  assert.equal(kindColumnsOf('', 'constructor'), undefined)
  assert.equal(kindColumnsOf('', '__proto__'), undefined)
  assert.equal(kindColumnsOf('example.com', 'Pod'), undefined)
})

test('ages are abbreviated, and <unknown> without a timestamp', () => {
  const { check } = columnsUnderTest('', 'ServiceAccount')
  const age = (creationTimestamp: string | undefined, text: string): void =>
    check({ metadata: { creationTimestamp } }, { Age: text })
  age(ago(0), '0s')
  age(ago(119), '119s')
  age(ago(3 * 86_400), '3d')
  age(ago(-1), '0s')
  age(ago(-60), '<invalid>')
  age('2026-05-04T13:00:00+02:00', '60m')
  age('2026-05-04T11:59:30.500Z', '29s')
  age(undefined, '<unknown>')
  age('', '<unknown>')
  age('yesterday', '<unknown>')
  age('xxxx-xx-xxTxx:xx:xxZ', '<unknown>')
})

test('tables of roles and bindings', () => {
  const group = 'rbac.authorization.k8s.io'
  for (const kind of ['RoleBinding', 'ClusterRoleBinding']) {
    const { row } = columnsUnderTest(group, kind)
    const subjects = [
      { kind: 'User', name: 'eve' },
      { kind: 'ServiceAccount', namespace: 'n', name: 's' },
      { kind: 'Group', name: 'g' },
      { kind: 'User', name: 'bob' },
      { kind: 'Robot', name: 'r' },
    ]
    row(
      { roleRef: { kind: 'ClusterRole', name: 'admin' }, subjects },
      'a',
      'ClusterRole/admin',
      '5m',
      'eve, bob',
      'g',
      'n/s',
    )
    row({ roleRef: { kind: 'Role', name: 'r' } }, 'a', 'Role/r', '5m', '', '', '')
  }
  columnsUnderTest(group, 'Role').row({}, 'a', '2026-05-04T11:55:00Z')
  columnsUnderTest(group, 'ClusterRole').row(
    { metadata: { creationTimestamp: undefined } },
    'a',
    '0001-01-01T00:00:00Z',
  )
})

test('tables of admission policies and webhook configurations', () => {
  const group = 'admissionregistration.k8s.io'
  columnsUnderTest(group, 'MutatingWebhookConfiguration').row({ webhooks: [{}, {}] }, 'a', 2, '5m')
  columnsUnderTest(group, 'ValidatingWebhookConfiguration').row({}, 'a', 0, '5m')
  const spec = { paramKind: { apiVersion: 'x/v1', kind: 'Limit' }, validations: [{}], mutations: [{}, {}] }
  columnsUnderTest(group, 'ValidatingAdmissionPolicy').row({ spec }, 'a', 1, 'x/v1/Limit', '5m')
  columnsUnderTest(group, 'MutatingAdmissionPolicy').row({ spec }, 'a', 2, 'x/v1/Limit', '5m')
  columnsUnderTest(group, 'MutatingAdmissionPolicy').row({}, 'a', 0, '<unset>', '5m')
  for (const kind of ['ValidatingAdmissionPolicyBinding', 'MutatingAdmissionPolicyBinding']) {
    const { row, check } = columnsUnderTest(group, kind)
    row({ spec: { policyName: 'p' } }, 'a', 'p', '<unset>', '5m')
    check({ spec: { paramRef: { name: 'x' } } }, { ParamRef: '*/x' })
    check({ spec: { paramRef: { name: 'x', namespace: 'n' } } }, { ParamRef: 'n/x' })
    check({ spec: { paramRef: {} } }, { ParamRef: '<unset>' })
    const matchExpressions = [{ key: 'k', operator: 'In', values: ['v', 'w'] }]
    check(
      { spec: { paramRef: { selector: { matchLabels: { b: '2', a: '1' }, matchExpressions } } } },
      {
        ParamRef:
          '&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:' +
          '[]LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,Values:[v w],},},}',
      },
    )
  }
})

test('the APIService table shows availability', () => {
  const { row, check } = columnsUnderTest('apiregistration.k8s.io', 'APIService')
  row({}, 'a', 'Local', 'Unknown', '5m')
  check({ spec: { service: { namespace: 'n', name: 's' } } }, { Service: 'n/s' })
  const available = (status: string, reason: string, text: string): void =>
    check({ status: { conditions: [{ type: 'Available', status, reason }] } }, { Available: text })
  available('True', 'Passed', 'True')
  available('False', 'MissingEndpoints', 'False (MissingEndpoints)')
  available('False', '', 'False')
})

test('tables of FlowSchema and PriorityLevelConfiguration', () => {
  const group = 'flowcontrol.apiserver.k8s.io'
  const schemas = columnsUnderTest(group, 'FlowSchema')
  schemas.row({}, 'a', '', 0, '<none>', '5m', '?')
  schemas.row(
    {
      spec: {
        priorityLevelConfiguration: { name: 'l' },
        matchingPrecedence: 9,
        distinguisherMethod: { type: 'ByUser' },
      },
      status: { conditions: [{ type: 'Dangling', status: 'False' }] },
    },
    'a',
    'l',
    9,
    'ByUser',
    '5m',
    'False',
  )
  const levels = columnsUnderTest(group, 'PriorityLevelConfiguration')
  levels.row({ spec: { type: 'Exempt' } }, 'a', 'Exempt', '<none>', '<none>', '<none>', '<none>', '5m')
  const limited = (limitResponse: object): object => {
    return { spec: { type: 'Limited', limited: { nominalConcurrencyShares: 5, limitResponse } } }
  }
  levels.row(limited({ type: 'Reject' }), 'a', 'Limited', 5, '<none>', '<none>', '<none>', '5m')
  const queuing = { queues: 64, handSize: 6, queueLengthLimit: 50 }
  levels.row(limited({ queuing }), 'a', 'Limited', 5, 64, 6, 50, '5m')
})

test('the EndpointSlice table shows the first three ports and addresses', () => {
  const { row, check } = columnsUnderTest('discovery.k8s.io', 'EndpointSlice')
  row({ addressType: 'IPv4' }, 'a', 'IPv4', '<unset>', '<unset>', '5m')
  check({ ports: [{ port: 80, name: 'x' }, { name: 'y' }, {}] }, { Ports: '80,y,*' })
  check(
    { ports: [{ port: 1 }, { port: 2 }, { port: 3 }, { port: 4 }, { port: 5 }] },
    { Ports: '1,2,3 + 2 more...' },
  )
  check({ endpoints: [{ addresses: ['x', 'y'] }, {}, { addresses: ['z'] }] }, { Endpoints: 'x,y,z' })
  check(
    { endpoints: [{ addresses: ['x', 'y'] }, { addresses: ['z', 'v'] }] },
    { Endpoints: 'x,y,z + 1 more...' },
  )
})

test('tables of PodDisruptionBudget, PriorityClass and PodGroup', () => {
  const budgets = columnsUnderTest('policy', 'PodDisruptionBudget')
  budgets.row({ spec: { minAvailable: 2 }, status: { disruptionsAllowed: 1 } }, 'a', '2', 'N/A', 1, '5m')
  budgets.row({ spec: { maxUnavailable: '50%' } }, 'a', 'N/A', '50%', 0, '5m')
  budgets.row({ spec: { minAvailable: 0 } }, 'a', '0', 'N/A', 0, '5m')
  const scheduling = 'scheduling.k8s.io'
  const classes = columnsUnderTest(scheduling, 'PriorityClass')
  classes.row({ value: 5 }, 'a', 5, false, '5m', '')
  classes.row({ value: -5, globalDefault: true, preemptionPolicy: 'Never' }, 'a', -5, true, '5m', 'Never')
  columnsUnderTest(scheduling, 'Workload').row({}, 'a', '5m')
  const groups = columnsUnderTest(scheduling, 'PodGroup')
  groups.row({}, 'a', 'Basic', '<none>', 'Pending', '5m')
  groups.check({ spec: { schedulingPolicy: { gang: {} } } }, { Policy: 'Gang' })
  groups.check({ spec: { podGroupTemplateRef: { workload: { workloadName: 'w' } } } }, { Workload: 'w' })
  const scheduled = (status: string): object => ({ type: 'PodGroupScheduled', status })
  groups.check({ status: { conditions: [scheduled('True')] } }, { Status: 'Scheduled' })
  groups.check({ status: { conditions: [scheduled('False')] } }, { Status: 'Unschedulable' })
  const disrupted = { type: 'DisruptionTarget', reason: 'Preempted' }
  groups.check({ status: { conditions: [disrupted, scheduled('True')] } }, { Status: 'Preempted' })
})

test('tables of Lease, RuntimeClass and StorageVersion', () => {
  const coordination = 'coordination.k8s.io'
  columnsUnderTest(coordination, 'Lease').row({}, 'a', '', '5m')
  columnsUnderTest(coordination, 'Lease').row({ spec: { holderIdentity: 'h' } }, 'a', 'h', '5m')
  const spec = { leaseName: 'l', binaryVersion: '1.36', emulationVersion: '1.35' }
  columnsUnderTest(coordination, 'LeaseCandidate').row({ spec }, 'a', 'l', '1.36', '1.35', '5m')
  columnsUnderTest('node.k8s.io', 'RuntimeClass').row({ handler: 'kata' }, 'a', 'kata', '5m')
  const versions = columnsUnderTest('internal.apiserver.k8s.io', 'StorageVersion')
  versions.row({}, 'a', '<unset>', '<unset>', '5m')
  const storageVersions = ['x', 'y', 'z', 'w'].map(apiServerID => ({ apiServerID, encodingVersion: 'v1' }))
  versions.row(
    { status: { commonEncodingVersion: 'v1', storageVersions } },
    'a',
    'v1',
    'x=v1,y=v1,z=v1 + 1 more...',
    '5m',
  )
  const migrations = columnsUnderTest('storagemigration.k8s.io', 'StorageVersionMigration')
  migrations.row({ spec: { resource: { resource: 'pods' } } }, 'a', 'pods', 'Unknown')
  const conditions = [
    { type: 'Succeeded', status: 'True' },
    { type: 'Running', status: 'False' },
    { type: 'x', status: 'True' },
  ]
  migrations.row(
    { spec: { resource: { group: 'apps', resource: 'deployments' } }, status: { conditions } },
    'a',
    'deployments.apps',
    'Succeeded',
  )
  columnsUnderTest('apiextensions.k8s.io', 'CustomResourceDefinition').row({}, 'a', '2026-05-04T11:55:00Z')
})
