/**
 * Type-checks the expressions of a ValidatingAdmissionPolicy against its matched kinds and writes warnings to its
 * status. A policy is checked again when the CustomResourceDefinition of a matched kind appears or changes.
 * https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/#type-checking
 */
import { defaultResources } from '#/api/builtin.ts'
import { isEstablished } from '#/api/custom-resources/definition-status.ts'
import { resourceSchemaOf } from '#/api/custom-resources/resource-schema.ts'
import { isApiError } from '#/api/errors.ts'
import type {
  ExpressionWarning,
  ValidatingAdmissionPolicy,
} from '#/api/generated/admissionregistration/v1.ts'
import { validatingAdmissionPolicies } from '#/api/generated/admissionregistration/v1-resources.ts'
import type { CustomResourceDefinition } from '#/api/generated/apiextensions/v1.ts'
import { customResourceDefinitions } from '#/api/generated/apiextensions/v1-resources.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import { compareInt64 } from '#/api/text/int64.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { checkPolicyTypes, type CheckedKind } from '#/cel/check-policy-types.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'

export const validatingAdmissionPolicyStatusController: Controller = {
  name: 'validatingadmissionpolicy-status-controller',
  queueName: 'validatingadmissionpolicy-status',
  account: 'validatingadmissionpolicy-status-controller',
  setUp,
}

const fieldManager = 'validatingadmissionpolicy-status'

function setUp({ informer, enqueue }: ControllerContext): Reconcile {
  const policies = informer(validatingAdmissionPolicies)
  const definitions = informer(customResourceDefinitions)
  policies.addEventHandler((key, { oldObject, newObject }) => {
    const isChanged = oldObject?.metadata.generation !== newObject?.metadata.generation
    if (newObject !== undefined && (isChanged || !isObserved(newObject))) enqueue(key)
  })
  definitions.addEventHandler((_key, { oldObject, newObject }) => {
    const group = newObject?.spec.group ?? oldObject?.spec.group ?? ''
    if (equalJson(kindsOf(oldObject), kindsOf(newObject))) return
    for (const policy of policies.list()) {
      if (groupsOf(policy).has(group)) enqueue(policy.metadata.name)
    }
  })

  return async ({ key: name, client, signal }) => {
    const policy = policies.get(name)
    if (policy === undefined) return
    const groups = groupsOf(policy)
    const custom = definitions.list().filter(({ spec }) => groups.has(spec.group))
    const warnings = checkPolicyTypes(policy, [...defaultResources(), ...custom.flatMap(checkedKindsOf)])
    if (isObserved(policy) && equalJson(warningsOf(policy), warnings)) return
    const status = {
      observedGeneration: policy.metadata.generation ?? 0,
      typeChecking: warnings.length === 0 ? {} : { expressionWarnings: warnings },
    }
    try {
      const applied = { metadata: { name }, status }
      const options = { fieldManager, force: true, subresource: 'status', signal }
      await client.apply(validatingAdmissionPolicies, applied, options)
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
  }
}

function isObserved({ metadata, status }: ValidatingAdmissionPolicy): boolean {
  return compareInt64(metadata.generation ?? 0, status?.observedGeneration ?? 0) <= 0
}

function warningsOf({ status }: ValidatingAdmissionPolicy): readonly ExpressionWarning[] {
  return status?.typeChecking?.expressionWarnings ?? []
}

/** The API groups whose kinds the policy refers to, as far as they are named. */
function groupsOf({ spec }: ValidatingAdmissionPolicy): ReadonlySet<string> {
  const rules = spec?.matchConstraints?.resourceRules ?? []
  const params = parseGroupVersion(spec?.paramKind?.apiVersion ?? '')
  return new Set([...rules.flatMap(({ apiGroups = [] }) => apiGroups), ...(params ? [params.group] : [])])
}

/** What type checking depends on; undefined while the definition is not served. */
function kindsOf(definition: CustomResourceDefinition | undefined): unknown {
  if (definition === undefined || !isEstablished(definition)) return undefined
  return [definition.spec.versions, definition.status?.acceptedNames]
}

function checkedKindsOf(definition: CustomResourceDefinition): readonly CheckedKind[] {
  if (!isEstablished(definition)) return []
  const { group, names, versions } = definition.spec
  const { kind, plural } = definition.status?.acceptedNames ?? names
  return versions
    .filter(version => version.served)
    .map(({ name, schema }) => ({
      group,
      version: name,
      kind,
      plural,
      schema: resourceSchemaOf(schema?.openAPIV3Schema),
    }))
}
