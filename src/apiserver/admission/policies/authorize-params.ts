/**
 * Params are read by the API server and can appear in messages. So writing a policy requires `get` permission
 * on all objects of its paramKind, and writing a binding requires permission to read what its paramRef
 * selects.
 */
import { forbiddenField, invalidObject } from '#/api/field-error.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { quote } from '#/api/text/quote.ts'
import type { Resource } from '#/api/resource.ts'
import { systemMastersGroup } from '../../authz/always.ts'
import type { ResourceAttributes } from '../../authz/authorizer.ts'
import type { UserInfo } from '../../request.ts'
import type { AdmissionAttributes } from '../admission-chain.ts'
import { getCachedOrStored } from '../lookup.ts'
import type { PluginContext } from '../plugin-context.ts'
import type { Binding, Policy } from './policy-source.ts'

export interface PolicyResources {
  readonly policies: Resource<Policy>
  readonly bindings: Resource<Binding>
}

export function isPolicyResource(
  { policies, bindings }: PolicyResources,
  { group, plural }: Resource,
): boolean {
  return group === policies.group && (plural === policies.plural || plural === bindings.plural)
}

/** `request` must be a write of a policy or binding. Throws ApiError 422. */
export async function authorizeParams(
  context: PluginContext,
  { policies }: PolicyResources,
  request: AdmissionAttributes,
): Promise<void> {
  const { resource, operation, subresource, user } = request
  if ((operation !== 'CREATE' && operation !== 'UPDATE') || subresource !== '') return
  if (user.groups.includes(systemMastersGroup)) return
  if (resource.plural === policies.plural) await authorizePolicy(context, request)
  else await authorizeBinding(context, policies, request)
}

/** Narrows the objects of the request to their kind. */
interface Written<T> {
  readonly object: T | undefined
  readonly oldObject: T | undefined
}

async function authorizePolicy(context: PluginContext, request: AdmissionAttributes): Promise<void> {
  const { object, oldObject }: Written<Policy> = request
  const paramKind = object?.spec?.paramKind
  if (paramKind === undefined || equalJson(paramKind, oldObject?.spec?.paramKind)) return
  const wanted = { verb: 'get', ...resourceOf(context, paramKind).attributes, namespace: '*', name: '*' }
  if (await mayRead(context, request.user, wanted)) return
  const { kind = '', apiVersion = '' } = paramKind
  refuse(
    request,
    'spec.paramKind',
    `user ${describe(request.user)} must have "get" permission on all objects of the referenced paramKind ` +
      `(kind=${kind}, apiVersion=${apiVersion})`,
  )
}

async function authorizeBinding(
  context: PluginContext,
  policies: Resource<Policy>,
  request: AdmissionAttributes,
): Promise<void> {
  const { object, oldObject }: Written<Binding> = request
  const { policyName = '', paramRef } = object?.spec ?? {}
  if (paramRef === undefined) return
  if (oldObject?.spec?.policyName === policyName && equalJson(paramRef, oldObject.spec.paramRef)) return
  const policy = await getCachedOrStored(context, policies, { name: policyName })
  const { attributes, isKnown } = resourceOf(context, policy?.spec?.paramKind)
  const { name = '', namespace = '' } = paramRef
  const verb = name === '' ? 'list' : 'get'
  if (await mayRead(context, request.user, { verb, ...attributes, namespace, name })) return
  const user = `user ${describe(request.user)} does not have "${verb}" permission`
  const unknown = policy ? 'unable to resolve paramKind' : `unable to get policy ${policyName}`
  refuse(
    request,
    'spec.paramRef',
    policy && isKnown
      ? `${user} on the object referenced by paramRef`
      : `${unknown} to determine minimum required permissions and ${user} for all groups, versions and resources`,
  )
}

/** Unresolvable parts become `*`, so permission on everything is required. */
function resourceOf(
  { scheme }: PluginContext,
  paramKind: { readonly apiVersion?: string; readonly kind?: string } | undefined,
): {
  readonly attributes: Pick<ResourceAttributes, 'group' | 'version' | 'resource'>
  readonly isKnown: boolean
} {
  const parsed = paramKind && parseGroupVersion(paramKind.apiVersion ?? '')
  if (!parsed)
    return { attributes: { group: '*', version: '*', resource: '*' }, isKnown: paramKind === undefined }
  const { group, version } = parsed
  const found = scheme.byKind({ group, version, kind: paramKind?.kind ?? '' })
  return { attributes: { group, version, resource: found?.plural ?? '*' }, isKnown: found !== undefined }
}

async function mayRead(
  { authorizer }: PluginContext,
  user: UserInfo,
  wanted: Omit<ResourceAttributes, 'isResource' | 'subresource'>,
): Promise<boolean> {
  const { decision } = await authorizer.authorize({ user, isResource: true, subresource: '', ...wanted })
  return decision === 'allow'
}

function describe({ username }: UserInfo): string {
  return quote(username)
}

function refuse({ resource, name }: AdmissionAttributes, field: string, detail: string): never {
  const { group, kind } = resource
  throw invalidObject({ group, kind, name }, [forbiddenField(field, detail)])
}
