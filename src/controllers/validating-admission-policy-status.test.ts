import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ValidatingAdmissionPolicy } from '#/api/generated/admissionregistration/v1.ts'
import { validatingAdmissionPolicies } from '#/api/generated/admissionregistration/v1-resources.ts'
import type { CustomResourceDefinition } from '#/api/generated/apiextensions/v1.ts'
import { customResourceDefinitions } from '#/api/generated/apiextensions/v1-resources.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { validatingAdmissionPolicyStatusController } from './validating-admission-policy-status.ts'

function policyOf(expression: string, rule: object = {}, paramKind?: object): ValidatingAdmissionPolicy {
  const deployments = { apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments'] }
  const spec = {
    failurePolicy: 'Fail',
    matchConstraints: { resourceRules: [{ ...deployments, operations: ['CREATE'], ...rule }] },
    ...(paramKind && { paramKind }),
    validations: [{ expression }],
  }
  return { metadata: { name: 'limits' }, spec }
}

const cronTabs = { apiGroups: ['stable.example.com'], resources: ['crontabs'] }

function definitionOf(properties: object): CustomResourceDefinition {
  const openAPIV3Schema = { type: 'object', properties: { spec: { type: 'object', properties } } }
  return {
    metadata: { name: 'crontabs.stable.example.com' },
    spec: {
      group: 'stable.example.com',
      scope: 'Namespaced',
      names: { plural: 'crontabs', kind: 'CronTab' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  } as CustomResourceDefinition
}

async function statusOf(plane: TestControlPlane): Promise<ValidatingAdmissionPolicy['status']> {
  return (await plane.list(validatingAdmissionPolicies))[0]?.status
}

async function warningsOf(plane: TestControlPlane): Promise<readonly string[]> {
  const status = await statusOf(plane)
  return (status?.typeChecking?.expressionWarnings ?? []).map(({ warning }) => warning)
}

test('type checking warnings follow the generation of a policy', async t => {
  const plane = await startTestControlPlane(t, [validatingAdmissionPolicyStatusController])
  await plane.create(validatingAdmissionPolicies, policyOf('object.spec.replicass > 1'))
  const warning =
    "apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'replicass'\n" +
    ' | object.spec.replicass > 1\n' +
    ' | ...........^\n'
  assert.deepEqual(await statusOf(plane), {
    observedGeneration: 1,
    typeChecking: { expressionWarnings: [{ fieldRef: 'spec.validations[0].expression', warning }] },
  })
  await plane.change(validatingAdmissionPolicies, 'limits', policy => ({
    ...policy,
    spec: policyOf('object.spec.replicas > 1').spec!,
  }))
  assert.deepEqual(await statusOf(plane), { observedGeneration: 2 })
})

test('a policy is type-checked again when the definition of a matched custom resource changes', async t => {
  const plane = await startTestControlPlane(t, [validatingAdmissionPolicyStatusController])
  await plane.create(validatingAdmissionPolicies, policyOf('object.spec.replicas > 1', cronTabs))
  assert.deepEqual(await warningsOf(plane), [])
  await plane.create(customResourceDefinitions, definitionOf({ replicas: { type: 'string' } }))
  assert.deepEqual(await warningsOf(plane), [
    "stable.example.com/v1, Kind=CronTab: ERROR: <input>:1:22: found no matching overload for '_>_' applied to " +
      "'(string, int)'\n | object.spec.replicas > 1\n | .....................^\n",
  ])
  await plane.change(customResourceDefinitions, 'crontabs.stable.example.com', definition => ({
    ...definition,
    spec: { ...definition.spec, versions: definitionOf({ replicas: { type: 'integer' } }).spec.versions },
  }))
  assert.deepEqual(await warningsOf(plane), [])
})

test('metadata of a custom resource is visible to policies', async t => {
  const plane = await startTestControlPlane(t, [validatingAdmissionPolicyStatusController])
  await plane.create(customResourceDefinitions, definitionOf({}))
  await plane.create(validatingAdmissionPolicies, policyOf("object.metadata.labels['a'] == 'b'", cronTabs))
  assert.deepEqual(await statusOf(plane), { observedGeneration: 1, typeChecking: {} })
})

test('parameters of a custom resource are type-checked', async t => {
  const plane = await startTestControlPlane(t, [validatingAdmissionPolicyStatusController])
  const paramKind = { apiVersion: 'stable.example.com/v1', kind: 'CronTab' }
  await plane.create(validatingAdmissionPolicies, policyOf('params.spec.limit > 1', {}, paramKind))
  assert.deepEqual(await warningsOf(plane), [])
  await plane.create(customResourceDefinitions, definitionOf({ limits: { type: 'integer' } }))
  assert.deepEqual(await warningsOf(plane), [
    "apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'limit'\n" +
      ' | params.spec.limit > 1\n | ...........^\n',
  ])
})
