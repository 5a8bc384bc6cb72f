/**
 * Validation of device classes and claims that needs more than the object: CEL selectors, and admin access to
 * devices, which the namespace must allow.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#admin-access
 */
import { forbiddenField, internalFieldError, invalid, type FieldError } from '#/api/field-error.ts'
import type {
  DeviceClaim,
  DeviceClass,
  DeviceSelector,
  ResourceClaim,
  ResourceClaimTemplate,
} from '#/api/generated/resource/v1.ts'
import { namespaces } from '#/api/generated/core/v1-resources.ts'
import { equalJson, type JsonValue } from '#/api/text/json-value.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { InvalidExpression } from '#/cel/compile-expression.ts'
import { compileDeviceSelector, deviceSize } from '#/cel/device-environment.ts'
import type { HookContext, ResourceHooks } from './hooks.ts'
import { keyOf } from './store-keys.ts'

export const deviceClassHooks: ResourceHooks = {
  validate: unlessUnchanged(object => {
    const { spec } = object as DeviceClass
    return validateSelectors('spec.selectors', spec?.selectors)
  }),
}

export const resourceClaimHooks: ResourceHooks = {
  validate: unlessUnchanged((object, context) => {
    const { spec } = object as ResourceClaim
    return validateClaim('spec.devices', spec?.devices, { ...context, object })
  }),
}

export const resourceClaimTemplateHooks: ResourceHooks = {
  validate: unlessUnchanged((object, context) => {
    const { spec } = object as ResourceClaimTemplate
    return validateClaim('spec.spec.devices', spec?.spec?.devices, { ...context, object })
  }),
}

const adminAccessLabel = 'resource.kubernetes.io/admin-access'
const selectorCostMax = 1_000_000n
/** Longer expressions are rejected by the validation of the kind. */
const expressionBytesMax = 10 * 1_024

/** A stored expression is not compiled again; a claim is immutable. */
function unlessUnchanged(
  validate: (object: KubernetesObject, context: HookContext) => readonly FieldError[],
): NonNullable<ResourceHooks['validate']> {
  return (object, oldObject, context) =>
    oldObject !== undefined && equalJson(specOf(object), specOf(oldObject)) ? [] : validate(object, context)
}

function specOf(object: KubernetesObject): JsonValue {
  return ((object as { readonly spec?: object }).spec ?? null) as JsonValue
}

function validateClaim(
  field: string,
  claim: DeviceClaim | undefined,
  context: HookContext & { readonly object: KubernetesObject },
): FieldError[] {
  const { requests = [] } = claim ?? {}
  return [
    ...validateAdminAccess(requests, context),
    ...requests.flatMap(({ exactly, firstAvailable = [] }, index) => {
      const place = `${field}.requests[${index}]`
      return [
        ...validateSelectors(`${place}.exactly.selectors`, exactly?.selectors),
        ...firstAvailable.flatMap((alternative, at) =>
          validateSelectors(`${place}.firstAvailable[${at}].selectors`, alternative.selectors),
        ),
      ]
    }),
  ]
}

/** In a template, Kubernetes reports it at the path that it has in a claim. */
function validateAdminAccess(
  requests: NonNullable<DeviceClaim['requests']>,
  { cache, object }: HookContext & { readonly object: KubernetesObject },
): FieldError[] {
  const index = requests.findIndex(({ exactly }) => exactly?.adminAccess === true)
  if (index === -1) return []
  const field = `spec.devices.requests[${index}].adminAccess`
  const { namespace: name = '' } = object.metadata
  const namespace = cache?.get(keyOf(namespaces, '', name))?.object
  if (namespace === undefined) {
    const detail = `could not retrieve namespace to verify admin access: namespaces "${name}" not found`
    return [internalFieldError(field, detail)]
  }
  if (namespace.metadata.labels?.[adminAccessLabel] === 'true') return []
  const label = `\`${adminAccessLabel}: true\``
  return [
    forbiddenField(field, `admin access to devices requires the ${label} label on the containing namespace`),
  ]
}

function validateSelectors(field: string, selectors: readonly DeviceSelector[] | undefined): FieldError[] {
  return (selectors ?? []).flatMap(({ cel }, index) => {
    if (!cel || Buffer.byteLength(cel.expression) > expressionBytesMax) return []
    return validateExpression(`${field}[${index}].cel.expression`, cel.expression)
  })
}

function validateExpression(field: string, expression: string): FieldError[] {
  const program = compileDeviceSelector(expression)
  if (program instanceof InvalidExpression) return [invalid(field, expression, program.message)]
  const { max } = program.estimateCost(() => deviceSize)
  return max > selectorCostMax ? [forbiddenField(field, 'too complex, exceeds cost limit')] : []
}
