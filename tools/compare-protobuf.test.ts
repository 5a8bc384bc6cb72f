import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareMessages, type MessageFacts } from './compare-protobuf-messages.ts'

const meta = 'k8s.io.apimachinery.pkg.apis.meta.v1'
const core = 'k8s.io.api.core.v1'

/** Checks the differences reported for the given messages; all others are missing. */
function check(messages: Readonly<Record<string, MessageFacts>>, expected: readonly string[]): void {
  const differences = compareMessages(messages)
  assert.ok(differences.includes('core.v1.Pod: should not exist'))
  const names = Object.keys(messages).map(name => name.split('.').slice(-3).join('.'))
  const patterns = names.map(name => new RegExp(`^${name}\\b`))
  assert.deepEqual(
    differences.filter(each => patterns.some(pattern => pattern.test(each))),
    expected,
  )
}

test('a message that agrees is not mentioned', () => {
  check(
    {
      [`${meta}.LabelSelectorRequirement`]: {
        key: [1, 'string'],
        operator: [2, 'string'],
        values: [3, 'string', 'repeated'],
      },
      [`${meta}.LabelSelector`]: {
        matchLabels: [1, 'map<string,string>'],
        matchExpressions: [2, `${meta}.LabelSelectorRequirement`, 'repeated'],
      },
    },
    [],
  )
})

test('names may differ in case and signs, and lists may be messages', () => {
  check(
    {
      'k8s.io.api.authentication.v1.ExtraValue': { items: [1, 'string', 'repeated'] },
      'k8s.io.api.authentication.v1.UserInfo': {
        Username: [1, 'string'],
        uID: [2, 'string'],
        groups: [3, 'string', 'repeated'],
        extra: [4, 'map<string,.k8s.io.api.authentication.v1.ExtraValue>'],
      },
    },
    [],
  )
})

test('every difference is told', () => {
  check(
    {
      [`${meta}.LabelSelectorRequirement`]: {
        key: [1, 'int32'],
        operation: [2, 'string'],
        values: [4, 'string', 'repeated'],
      },
    },
    [
      'meta.v1.LabelSelectorRequirement.key: is string, should be int32',
      'meta.v1.LabelSelectorRequirement.operator: number 2 should be operation',
      'meta.v1.LabelSelectorRequirement.values: is missing, number 4',
      'meta.v1.LabelSelectorRequirement.values: should not have number 3',
    ],
  )
})

test('embedded messages are compared with the fields of their owners', () => {
  const probe: MessageFacts = {
    handler: [1, `${core}.ProbeHandler`],
    initialDelaySeconds: [2, 'int32'],
    timeoutSeconds: [3, 'int32'],
    periodSeconds: [4, 'int32'],
    successThreshold: [5, 'int32'],
    failureThreshold: [6, 'int32'],
    terminationGracePeriodSeconds: [7, 'int64'],
  }
  const handler: MessageFacts = {
    exec: [1, `${core}.ExecAction`],
    httpGet: [2, `${core}.HTTPGetAction`],
    tcpSocket: [3, `${core}.TCPSocketAction`],
    grpc: [4, `${core}.GRPCAction`],
  }
  check({ [`${core}.Probe`]: probe, [`${core}.ProbeHandler`]: handler }, [])
  check({ [`${core}.Probe`]: probe, [`${core}.ProbeHandler`]: { ...handler, grpc: [4, 'string'] } }, [
    `core.v1.ProbeHandler.grpc: is ${core}.GRPCAction, should be string`,
  ])
  check({ [`${core}.Probe`]: { ...probe, handler: [1, `${core}.Other`] } }, [
    'core.v1.Probe.ProbeHandler: should be Other',
  ])
})
