/**
 * Validates requests with CEL policies. One denial is enough to reject a request; the binding's
 * validationActions can also turn a failure into a warning or an audit annotation.
 * https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
 */
import type {
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '#/api/generated/admissionregistration/v1.ts'
import {
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from '#/api/generated/admissionregistration/v1-resources.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { AuthorizerValue } from '#/cel/authorizer.ts'
import type { AdmissionPlugin, AdmissionAttributes } from '../admission-chain.ts'
import { authorizerValue, admissionVariables } from '../matching/expressions.ts'
import type { PluginContext } from '../plugin-context.ts'
import { authorizeParams, isPolicyResource } from '../policies/authorize-params.ts'
import { compileValidatingPolicy, type CompiledValidatingPolicy } from '../policies/compile-policy.ts'
import { checkPolicyConfiguration } from '../policies/configuration.ts'
import { evaluateValidations, failed, type Validated } from '../policies/evaluate-validations.ts'
import {
  matchesConditions,
  inputOf,
  invocationsOf,
  namespaceObjectOf,
  type Invocation,
} from '../policies/invocation.ts'
import { PolicyError } from '../policies/policy-error.ts'
import { isExemptFromPolicies, PolicySource, type BoundPolicy } from '../policies/policy-source.ts'
import { ValidationReport } from '../policies/validation-report.ts'

const name = 'ValidatingAdmissionPolicy'

const resources = { policies: validatingAdmissionPolicies, bindings: validatingAdmissionPolicyBindings }

export function validatingAdmissionPolicy(
  context: PluginContext,
  configuration?: JsonValue,
): AdmissionPlugin {
  checkPolicyConfiguration(name, configuration)
  const source = new PolicySource(context, {
    ...resources,
    compile: ({ spec = {} }) => compileValidatingPolicy(spec),
  })
  return {
    name,
    handles: ({ resource }) => !isExemptFromPolicies(resource) || isPolicyResource(resources, resource),
    validate(request) {
      if (isPolicyResource(resources, request.resource)) return authorizeParams(context, resources, request)
      const concerned = source.bound.filter(({ matcher }) => matcher.match(request))
      return concerned.length === 0 ? undefined : dispatch(context, concerned, request)
    },
  }
}

type Bound = BoundPolicy<
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  CompiledValidatingPolicy
>

async function dispatch(
  context: PluginContext,
  policies: readonly Bound[],
  request: AdmissionAttributes,
): Promise<void> {
  const report = new ValidationReport(request, context.metrics)
  const authorizer = authorizerValue(context.authorizer, request.user)
  for (const bound of policies) {
    const ignoresErrors = bound.policy.spec?.failurePolicy === 'Ignore'
    for (const { invocation, failure } of await invocationsOf(context, bound, request)) {
      if (invocation) {
        const validated = await evaluate(context, request, { invocation, authorizer })
        const {
          name: binding,
          binding: { spec },
        } = invocation.binding
        const reference = { policy: bound.name, binding }
        report.add(validated, { reference, actions: spec?.validationActions ?? [], ignoresErrors })
      } else if (!ignoresErrors) {
        const { binding, message } = failure
        report.deny({ policy: bound.name, ...(binding && { binding: binding.name }) }, message)
      }
    }
  }
  report.finish()
}

interface Asked {
  readonly invocation: Invocation<
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    CompiledValidatingPolicy
  >
  readonly authorizer: AuthorizerValue
}

async function evaluate(
  context: PluginContext,
  request: AdmissionAttributes,
  { invocation, authorizer }: Asked,
): Promise<Validated> {
  const { bound } = invocation
  const input = await inputOf(request, invocation, await namespaceObjectOf(context, request))
  const inputs = admissionVariables(input, authorizer)
  try {
    if (!(await matchesConditions(context, request, { bound, inputs, type: 'validate' }))) return nothing
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    return failed(error.message)
  }
  return evaluateValidations(bound.compiled, {
    inputs,
    inputsWithoutAuthorizer: admissionVariables(input),
    clock: context.platform.clock,
  })
}

const nothing: Validated = { denials: [], annotations: [], annotationErrors: [] }
