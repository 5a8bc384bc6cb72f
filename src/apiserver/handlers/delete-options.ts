/** DeleteOptions from the body or the query. */
import { decode } from '#/api/decoding/decode.ts'
import { DecodeError } from '#/api/decoding/decode-error.ts'
import { structDefinition } from '#/api/definitions.ts'
import { badRequest } from '#/api/errors.ts'
import { invalid, invalidObject, notSupported, type FieldError } from '#/api/field-error.ts'
import type { DeleteOptions as DeleteOptionsObject } from '#/api/generated/meta/v1.ts'
import { parseJson } from '#/api/text/json.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { decodeProtobuf } from '#/api/protobuf.ts'
import { requestBytesMax } from '#/api/decoding/strict-decode.ts'
import { parseYaml } from '#/api/text/yaml.ts'
import { bodyFormat, type Format } from '../negotiation.ts'
import type { DeleteObjectOptions } from '../registry/delete-object.ts'
import { isTrue } from '../request-info.ts'
import { integerParameter, type RequestScope } from './request-scope.ts'
import { validateDryRun } from './write-options.ts'

export interface DeleteOptions extends DeleteObjectOptions {
  readonly dryRun: boolean
  /** The options for admission. */
  readonly sent: Readonly<Record<string, unknown>>
}

const policies: readonly string[] = ['Foreground', 'Background', 'Orphan']

export async function readDeleteOptions(scope: RequestScope): Promise<DeleteOptions> {
  return deleteOptionsOf((await bodyOptions(scope)) ?? queryOptions(scope), false)
}

/** Converts DeleteOptions embedded in another object. Throws ApiError 422. */
export function deleteOptionsOf(sent: DeleteOptionsObject, isDryRun: boolean): DeleteOptions {
  const errors = check(sent)
  if (errors.length > 0) throw invalidObject({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, errors)
  const { dryRun = [], gracePeriodSeconds, propagationPolicy, orphanDependents, preconditions = {} } = sent
  const orphans = orphanDependents === undefined ? undefined : orphanDependents ? 'Orphan' : 'Background'
  return {
    dryRun: isDryRun || dryRun.length > 0,
    gracePeriodSeconds: gracePeriodSeconds === undefined ? undefined : gracePeriodOf(gracePeriodSeconds),
    propagationPolicy: (propagationPolicy || orphans) as DeleteOptions['propagationPolicy'],
    preconditions,
    sent: { ...sent, kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/v1' },
  }
}

/** A negative grace period counts as one second. */
function gracePeriodOf(seconds: number | bigint): number {
  return seconds < 0 ? 1 : Number(seconds)
}

function queryOptions({ context }: RequestScope): DeleteOptionsObject {
  const { query } = context.request
  const grace = integerParameter(query, 'gracePeriodSeconds')
  const dryRun = query.getAll('dryRun')
  const policy = query.get('propagationPolicy')
  const orphan = query.get('orphanDependents')
  return {
    ...(grace !== undefined && { gracePeriodSeconds: grace }),
    ...(dryRun.length > 0 && { dryRun }),
    ...(policy !== null && { propagationPolicy: policy }),
    ...(orphan !== null && { orphanDependents: isTrue(orphan) }),
  }
}

/** Undefined without a body. */
async function bodyOptions(scope: RequestScope): Promise<DeleteOptionsObject | undefined> {
  const { request } = scope.context
  if (request.body.value !== undefined) return request.body.value as DeleteOptionsObject
  const bytes = await request.body.bytes(requestBytesMax)
  if (bytes.length === 0) return undefined
  const format = bodyFormat(request.headers['content-type'])
  const value = read(bytes, format)
  const { kind = 'DeleteOptions', apiVersion } = value as KubernetesObject
  // DeleteOptions is accepted in any API group, with the same fields.
  if (kind !== 'DeleteOptions')
    throw badRequest(`no kind "${kind}" is registered for version "${apiVersion ?? ''}"`)
  return value
}

function read(bytes: Uint8Array, format: Format): object {
  try {
    if (format === 'protobuf') return decodeProtobuf(bytes)
    const value = format === 'yaml' ? parseYaml(bytes) : parseJson(bytes)
    return decode(value, structDefinition('meta.v1.DeleteOptions')).value
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    const isSyntax = error.reason === 'syntax' && format !== 'protobuf'
    throw badRequest(
      isSyntax ? `couldn't get version/kind; json parse error: ${error.message}` : error.message,
    )
  }
}

function check({ dryRun = [], propagationPolicy, orphanDependents }: DeleteOptionsObject): FieldError[] {
  const errors: FieldError[] = []
  if (propagationPolicy !== undefined && orphanDependents !== undefined) {
    errors.push(
      invalid(
        'propagationPolicy',
        propagationPolicy,
        'orphanDependents and deletionPropagation cannot be both set',
      ),
    )
  }
  if (propagationPolicy !== undefined && !policies.includes(propagationPolicy))
    errors.push(notSupported('propagationPolicy', propagationPolicy, [...policies, 'nil']))
  return [...errors, ...validateDryRun(dryRun)]
}
