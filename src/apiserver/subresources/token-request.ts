/**
 * The token subresource of service accounts, used by `kubectl create token` and by kubelets. A token can be
 * bound to a pod, secret or node, and becomes invalid with it.
 */
import { trackUpdate } from '#/api/apply.ts'
import { kindRulesOf } from '#/api/builtin.ts'
import { structDefinition } from '#/api/definitions.ts'
import { badRequest, conflict, notFound } from '#/api/errors.ts'
import { invalid, invalidObject } from '#/api/field-error.ts'
import type { BoundObjectReference, TokenRequest } from '#/api/generated/authentication/v1.ts'
import type { Pod, ServiceAccount } from '#/api/generated/core/v1.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import type { KindRules } from '#/api/kind-rules.ts'
import { jsonOf, objectOf, type Stored } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import type { AdmissionAttributes } from '../admission/admission-chain.ts'
import type { ObjectClaim, ServiceAccountClaims } from '../authn/service-account-claims.ts'
import type { ServiceAccountIssuer } from '../authn/service-account-issuer.ts'
import { serviceAccountUsername } from '../authn/service-account-names.ts'
import { keyOfScope, subjectOf, type RequestScope } from '../handlers/request-scope.ts'
import { decodeBody } from '../handlers/decode-body.ts'
import { readWriteOptions, type WriteOptions } from '../handlers/write-options.ts'
import { writeRequest } from '../handlers/write-request.ts'
import { keyOf } from '../registry/store-keys.ts'
import { getStoredObject } from '../registry/get-stored-object.ts'
import { annotate, type ApiResponse } from '../request.ts'
import type { VerbHandlers } from '../router.ts'
import { valueBody } from '../view.ts'

const kind = { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' }

type TokenRequestRules = Required<Pick<KindRules<TokenRequest>, 'withDefaults' | 'validate'>>

const rules = kindRulesOf(kind.group, kind.kind) as unknown as TokenRequestRules

/** The expiration requested by injected token volumes; the unusual value identifies them. */
const podExpirationSeconds = 3_607

/** Lifetime of such tokens, for clients that do not reload the token. */
const extendedSeconds = 365 * 24 * 3_600

export function tokenRequest(issuer: ServiceAccountIssuer): VerbHandlers {
  return { create: scope => create(scope, issuer) }
}

async function create(scope: RequestScope, issuer: ServiceAccountIssuer): Promise<ApiResponse> {
  const { registry, info, context } = scope
  const options = readWriteOptions(scope, 'CreateOptions')
  const schema = structDefinition('authentication.v1.TokenRequest')
  const { fieldValidation } = options
  const sent = (await decodeBody(scope, { kind, schema, fieldValidation })) as TokenRequest
  checkNames(scope, sent)
  const account = (await getStoredObject(registry, keyOfScope(scope)))?.object as
    | Stored<ServiceAccount>
    | undefined
  if (account === undefined) throw notFound(subjectOf(scope))
  checkUid(sent, account)
  const nowMs = registry.platform.clock.now()
  const request = withAudiences(
    await admit(scope, options, complete(owned(sent, options.fieldManager, nowMs), account, nowMs)),
    issuer,
  )
  const bound = await boundObjects(scope, request.spec?.boundObjectRef)
  const { audiences = [], expirationSeconds } = request.spec ?? {}
  const seconds = shorten(scope, Number(expirationSeconds), issuer)
  const isExtended =
    issuer.extendsExpiration &&
    bound.pod !== undefined &&
    seconds === podExpirationSeconds &&
    audiences.every(audience => issuer.audiences.includes(audience))
  const now = Math.floor(nowMs / 1_000)
  const claims: ServiceAccountClaims = {
    subject: serviceAccountUsername(info.namespace, info.name),
    audiences,
    expires: now + (isExtended ? extendedSeconds : seconds),
    issued: now,
    notBefore: now,
    tokenId: registry.platform.random.uuid('service-account-token'),
    namespace: info.namespace,
    serviceAccount: claimOf(account),
    ...bound,
    ...(isExtended && { warnAfter: now + seconds }),
  }
  annotate(context, 'authentication.kubernetes.io/issued-credential-id', `JTI=${claims.tokenId}`)
  const answer: TokenRequest = {
    ...request,
    spec: { ...request.spec, expirationSeconds: seconds },
    status: { token: issuer.issue(claims), expirationTimestamp: formatTime(nowMs + seconds * 1_000) },
  }
  return { status: 201, body: valueBody(answer, scope.view.negotiated) }
}

function checkNames({ info }: RequestScope, { metadata }: TokenRequest): void {
  for (const name of ['name', 'namespace'] as const) {
    const value = metadata[name]
    if (!value || value === info[name]) continue
    const detail = `must match the service account ${name} if specified`
    throw invalidObject({ ...kind, name: info.name }, [invalid(`metadata.${name}`, value, detail)])
  }
}

function checkUid({ metadata }: TokenRequest, { metadata: { name, uid } }: Stored<ServiceAccount>): void {
  if (!metadata.uid || metadata.uid === uid) return
  const text =
    `the UID in the token request (${metadata.uid}) ` +
    `does not match the UID of the service account (${uid})`
  throw conflict({ group: kind.group, kind: kind.kind, ...(name && { name }) }, text)
}

/** The answer has the fields that the sender owns, like an object that is stored. */
function owned(sent: TokenRequest, manager: string, nowMs: number): TokenRequest {
  const schema = structDefinition('authentication.v1.TokenRequest')
  const defaulted = rules.withDefaults(sent) as TokenRequest
  const tracked = trackUpdate({
    live: undefined,
    updated: jsonOf(defaulted),
    manager,
    schema,
    apiVersion: 'authentication.k8s.io/v1',
    now: formatTime(nowMs),
    subresource: 'token',
  })
  return { ...defaulted, metadata: objectOf(tracked()).metadata }
}

/** Fills in defaults and metadata. */
function complete(sent: TokenRequest, account: Stored<ServiceAccount>, nowMs: number): TokenRequest {
  const { name, namespace, uid } = account.metadata
  const { status: _, ...request } = rules.withDefaults(sent) as TokenRequest
  return {
    ...request,
    metadata: { uid, ...request.metadata, name, namespace, creationTimestamp: formatTime(nowMs) },
  }
}

/**
 * Defaults the audiences to those of this server. Applied after admission, which sees that none were
 * requested.
 */
function withAudiences(request: TokenRequest, issuer: ServiceAccountIssuer): TokenRequest {
  return request.spec?.audiences?.length
    ? request
    : { ...request, spec: { ...request.spec, audiences: issuer.audiences } }
}

async function admit(
  scope: RequestScope,
  options: WriteOptions,
  request: TokenRequest,
): Promise<TokenRequest> {
  const {
    registry: { admission },
  } = scope
  const write: AdmissionAttributes = {
    ...writeRequest(scope, options),
    operation: 'CREATE',
    object: request,
    oldObject: undefined,
  }
  const object = (await admission.mutate(write)) ?? write.object!
  const errors = rules.validate(object as TokenRequest)
  if (errors.length > 0) throw invalidObject(kind, errors)
  await admission.validate({ ...write, object })
  return object as TokenRequest
}

function shorten(
  { context }: RequestScope,
  seconds: number,
  { expirationSecondsMax = Infinity }: ServiceAccountIssuer,
): number {
  if (seconds <= expirationSecondsMax) return seconds
  context.warnings.add(
    `requested expiration of ${seconds} seconds shortened to ${expirationSecondsMax} seconds`,
  )
  return expirationSecondsMax
}

type Bound = Pick<ServiceAccountClaims, 'pod' | 'secret' | 'node'>

async function boundObjects(
  scope: RequestScope,
  reference: BoundObjectReference | undefined,
): Promise<Bound> {
  if (reference === undefined) return {}
  const { apiVersion = '', kind: what = '', name = '', uid } = reference
  const { group, version } = parseGroupVersion(apiVersion) ?? { group: apiVersion, version: '' }
  if (group !== '' || (what !== 'Pod' && what !== 'Secret' && what !== 'Node')) {
    throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${what}`)
  }
  const object = await read(scope, what, name)
  if (object === undefined) throw notFound({ group: '', kind: plurals[what], name })
  const claim = claimOf(object)
  if (uid && uid !== claim.uid) {
    const text =
      `the UID in the bound object reference (${uid}) does not match the UID in record. ` +
      'The object might have been deleted and then recreated'
    throw conflict({ group, kind: what, name }, text)
  }
  switch (what) {
    case 'Secret':
      return { secret: claim }
    case 'Node':
      return { node: claim }
    case 'Pod':
      return { pod: claim, ...(await nodeOfPod(scope, object as Pod)) }
  }
}

async function nodeOfPod(scope: RequestScope, { spec }: Pod): Promise<Bound> {
  if ((spec?.serviceAccountName ?? '') !== scope.info.name) {
    const what = `cannot bind token for serviceaccount "${scope.info.name}"`
    throw badRequest(`${what} to pod running with different serviceaccount name.`)
  }
  const name = spec?.nodeName
  if (!name) return {}
  const node = await read(scope, 'Node', name)
  // The pod names a node that does not exist.
  return { node: node ? claimOf(node) : { name, uid: '' } }
}

const plurals = { Pod: 'pods', Secret: 'secrets', Node: 'nodes' } as const

async function read(
  { registry, info }: RequestScope,
  what: keyof typeof plurals,
  name: string,
): Promise<Stored | undefined> {
  const resource = registry.scheme.byKind({ group: '', version: 'v1', kind: what })
  if (resource === undefined || name === '' || name.includes('/')) return undefined
  return (await getStoredObject(registry, keyOf(resource, what === 'Node' ? '' : info.namespace, name)))
    ?.object
}

function claimOf({ metadata }: Stored): ObjectClaim {
  return { name: metadata.name, uid: metadata.uid }
}
