/**
 * Hides new objects until the initializers configured for their resource have processed them in order. Each
 * initializer removes itself from `metadata.initializers.pending` when it is done. Kubernetes removed this
 * feature in 1.14. The InitializerConfiguration kind, the field and the hiding exist only while the plugin is
 * enabled.
 * https://v1-13.docs.kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#initializers
 */
import { forbiddenField, invalid, invalidObject, type FieldError } from '#/api/field-error.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { validateFullyQualifiedName } from '#/api/names.ts'
import type { Resource } from '#/api/resource.ts'
import { isTrue } from '../../request-info.ts'
import type { RequestContext } from '../../request.ts'
import {
  matchesResource,
  admissionForbidden,
  type AdmissionPlugin,
  type AdmissionAttributes,
  type AdmissionTarget,
  type AdmittedObject,
} from '../admission-chain.ts'
import { CachedDerivation } from '../cached-derivation.ts'
import { initializationHooks, updateHooks } from './initializers/hooks.ts'
import { initializersOf, withInitializers, type Initializers } from './initializers/initialization.ts'
import { InitializedView } from './initializers/initialized-view.ts'
import {
  initializerConfigurations,
  type InitializerConfiguration,
  type Rule,
} from './initializers/resource.ts'
import { withInitializersField } from './initializers/schema.ts'
import type { PluginContext } from '../plugin-context.ts'
import { isMirror } from './pod-spec.ts'

export function initializers(context: PluginContext): AdmissionPlugin {
  const { scheme, platform, cache, authorizer } = context
  scheme.register(initializerConfigurations)
  scheme.extend(withInitializersField)
  const view = new InitializedView(cache)
  context.extendRegistry({
    filtered: { cache: view, genericHooks: initializationHooks(cache, platform.clock) },
    unfiltered: { cache, genericHooks: updateHooks },
    isUnfiltered: includesUninitialized,
  })
  const configured = new CachedDerivation(view, initializerConfigurations, objects => new Configured(objects))

  const checkRight = async (request: AdmissionAttributes, denied: string): Promise<void> => {
    const { user, resource, namespace, name } = request
    const { group, version, plural } = resource
    const { decision, reason } = await authorizer.authorize({
      isResource: true,
      verb: 'initialize',
      user,
      group,
      version,
      resource: plural,
      subresource: '',
      namespace,
      name,
    })
    if (decision !== 'allow') throw admissionForbidden(request, `${denied}: ${reason}`)
  }

  const admitNew = async (request: AdmissionAttributes, given: Initializers): Promise<AdmittedObject> => {
    await checkRight(request, 'create with initializers denied')
    check(request, validateNew(given))
    return isEmpty(given) ? withInitializers(request.object!, undefined) : request.object
  }

  const admitUpdate = async (request: AdmissionAttributes, old: Initializers): Promise<AdmittedObject> => {
    const object = request.object!
    const sent = initializersOf(object)
    const isDone = sent === undefined || isEmpty(sent)
    check(request, isDone ? [] : validateUpdate(sent, old))
    await checkRight(request, 'update to uninitialized resource denied')
    return isDone && sent !== undefined ? withInitializers(object, undefined) : object
  }

  return {
    name: 'Initializers',
    handles: isHandled,
    mutate(request, { isReinvocation }) {
      const { operation, object, oldObject, resource, subresource } = request
      if (object === undefined) return object
      const given = initializersOf(object)
      if (operation === 'CREATE') {
        // The first pass has already set the initializers.
        if (isReinvocation) return object
        if (given !== undefined) return admitNew(request, given)
        const needed = configured.value.neededFor(resource)
        if (needed === undefined || isMirrorPod(request)) return object
        return withInitializers(object, needed)
      }
      const pending = oldObject && initializersOf(oldObject)
      if (pending === undefined) return given === undefined ? object : admitInitialized(request, given)
      if (subresource !== '') throw invalidStatus(request)
      return admitUpdate(request, pending)
    },
  }
}

/** A collection is deleted with its uninitialized objects, which would otherwise never be deleted. */
function includesUninitialized({ info, request }: RequestContext): boolean {
  return info.verb === 'deletecollection' || isTrue(request.query.get('includeUninitialized'))
}

/** Excludes resources without `update`, such as reviews: they are answered and never stored. */
function isHandled(target: AdmissionTarget): boolean {
  const { operation, resource, subresource } = target
  if (operation === 'UPDATE') return subresource === '' || matchesResource(target, 'pods', ['status'])
  return operation === 'CREATE' && subresource === '' && resource.verbs.includes('update')
}

function isMirrorPod({ resource, object }: AdmissionAttributes): boolean {
  return resource.group === '' && resource.kind === 'Pod' && isMirror(object as Pod)
}

/** The configured initializers, matched by resource. */
class Configured {
  readonly #rules: readonly { readonly name: string; readonly rules: readonly Rule[] }[]
  readonly #needed = new Map<Resource, Initializers | undefined>()

  /** `configurations` must be sorted by name. */
  constructor(configurations: readonly InitializerConfiguration[]) {
    this.#rules = configurations.flatMap(({ initializers: each = [] }) =>
      each.map(({ name = '', rules = [] }) => ({ name, rules })),
    )
  }

  neededFor(resource: Resource): Initializers | undefined {
    if (this.#rules.length === 0) return undefined
    if (!this.#needed.has(resource)) this.#needed.set(resource, this.#find(resource))
    return this.#needed.get(resource)
  }

  #find({ group, version, plural }: Resource): Initializers | undefined {
    const matching = this.#rules.filter(({ rules }) =>
      rules.some(
        ({ apiGroups, apiVersions, resources }) =>
          takesIn(apiGroups, group) && takesIn(apiVersions, version) && takesIn(resources, plural),
      ),
    )
    if (matching.length === 0) return undefined
    const names = new Set(matching.map(({ name }) => name))
    return { pending: [...names].map(name => ({ name })) }
  }
}

function takesIn(list: readonly string[] = [], item: string): boolean {
  return list[0] === '*' || list.includes(item)
}

function isEmpty({ pending = [], result }: Initializers): boolean {
  return pending.length === 0 && result === undefined
}

/** Initializers cannot be set once initialization has completed; an empty value is accepted and removed. */
function admitInitialized(request: AdmissionAttributes, given: Initializers): KubernetesObject {
  if (isEmpty(given)) return withInitializers(request.object!, undefined)
  throw invalidRequest(request, [
    invalid(field, null, 'field is immutable once initialization has completed'),
  ])
}

const field = 'metadata.initializers'

function validateNew({ pending = [], result }: Initializers): FieldError[] {
  return [
    ...validatePending(pending),
    ...(result ? [forbiddenField(`${field}.result`, 'must not be set for a new object')] : []),
  ]
}

/** Only the first pending initializer may be removed; the others keep their relative order. */
function validateUpdate({ pending = [], result }: Initializers, old: Initializers): FieldError[] {
  const errors = validatePending(pending)
  const waiting = (old.pending ?? []).slice(1).map(({ name }) => name)
  const left = pending.map(({ name }) => name).filter(name => waiting.includes(name))
  if (!equalJson(left, waiting)) {
    errors.push(invalid(`${field}.pending`, pending, 'only the first pending initializer may be removed'))
  }
  if (old.result && !equalJson(old.result, result ?? null)) {
    errors.push(invalid(`${field}.result`, result ?? null, 'field is immutable'))
  } else if (result && result.status !== 'Failure') {
    errors.push(invalid(`${field}.result.status`, result.status ?? '', "must be 'Failure'"))
  }
  return errors
}

function validatePending(pending: NonNullable<Initializers['pending']>): FieldError[] {
  return pending.flatMap(({ name }, index) =>
    validateFullyQualifiedName(`${field}.pending[${index}].name`, name ?? ''),
  )
}

function check(request: AdmissionAttributes, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidRequest(request, errors)
}

function invalidStatus(request: AdmissionAttributes): Error {
  return invalidRequest(request, [
    forbiddenField('status', 'must not update status when the object is uninitialized'),
  ])
}

function invalidRequest({ resource, name }: AdmissionAttributes, errors: readonly FieldError[]): Error {
  return invalidObject({ group: resource.group, kind: resource.kind, name }, errors)
}
