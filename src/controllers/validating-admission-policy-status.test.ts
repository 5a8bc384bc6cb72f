import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ValidatingAdmissionPolicy } from '#/api/generated/admissionregistration/v1.ts'
import { validatingAdmissionPolicies } from '#/api/generated/admissionregistration/v1-resources.ts'
import { startTestControlPlane } from './test-control-plane.ts'
import { validatingAdmissionPolicyStatusController } from './validating-admission-policy-status.ts'

function policyOf(expression: string): ValidatingAdmissionPolicy {
  return {
    metadata: { name: 'limits' },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [
          { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['deployments'] },
        ],
      },
      validations: [{ expression }],
    },
  }
}

test('type checking warnings are written once per generation of a policy', async t => {
  const checked: unknown[] = []
  const controller = validatingAdmissionPolicyStatusController({
    checkTypes: ({ spec }) => {
      const expression = spec?.validations?.[0]?.expression ?? ''
      checked.push(expression)
      const isWrong = expression.includes('replicass')
      return isWrong ? [{ fieldRef: 'spec.validations[0].expression', warning: 'undefined field' }] : []
    },
  })
  const plane = await startTestControlPlane(t, [controller])
  await plane.create(validatingAdmissionPolicies, policyOf('object.spec.replicass > 1'))
  const statusOf = async (): Promise<unknown> => (await plane.list(validatingAdmissionPolicies))[0]?.status
  assert.deepEqual(await statusOf(), {
    observedGeneration: 1,
    typeChecking: {
      expressionWarnings: [{ fieldRef: 'spec.validations[0].expression', warning: 'undefined field' }],
    },
  })
  await plane.change(validatingAdmissionPolicies, 'limits', policy => ({
    ...policy,
    spec: policyOf('object.spec.replicas > 1').spec!,
  }))
  assert.deepEqual(await statusOf(), { observedGeneration: 2 })
  await plane.change(validatingAdmissionPolicies, 'limits', policy => ({
    ...policy,
    metadata: { ...policy.metadata, labels: { a: 'b' } },
  }))
  assert.deepEqual(checked, ['object.spec.replicass > 1', 'object.spec.replicas > 1'])
})

test('failed type checking is retried', async t => {
  let failures = 2
  const controller = validatingAdmissionPolicyStatusController({
    checkTypes: async () => {
      if (failures-- > 0) throw new Error('type information unavailable')
      return []
    },
  })
  const plane = await startTestControlPlane(t, [controller])
  await plane.create(validatingAdmissionPolicies, policyOf('true'))
  const [policy] = await plane.list(validatingAdmissionPolicies)
  assert.deepEqual(policy?.status, { observedGeneration: 1, typeChecking: {} })
})
