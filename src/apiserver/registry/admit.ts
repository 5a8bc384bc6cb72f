/** Runs admission for writes. */
import { managedFieldsError } from '#/api/apply.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { assert } from '#/base/assert.ts'
import type { AdmissionAttributes } from '../admission/admission-chain.ts'
import type { Registry } from './registry.ts'
import type { WriteRequest } from './write-request.ts'

/** Runs admission on an object posted to a subresource or for CONNECT; it is not stored. */
export async function admitConnectOrCreate(
  { admission }: Pick<Registry, 'admission'>,
  request: WriteRequest & { readonly operation: 'CREATE' | 'CONNECT' },
  posted: KubernetesObject,
): Promise<KubernetesObject> {
  const admitted = (await admission.mutate({ ...request, object: posted, oldObject: undefined })) ?? posted
  await admission.validate({ ...request, object: admitted, oldObject: undefined })
  return admitted
}

/** Runs mutating admission. Invalid changes of managedFields by a plugin are reverted with a warning. */
export async function runMutatingAdmission(
  { admission }: Pick<Registry, 'admission'>,
  request: AdmissionAttributes,
): Promise<KubernetesObject> {
  const { object } = request
  assert(object !== undefined, 'CREATE and UPDATE have an object')
  const admitted = (await admission.mutate(request)) ?? object
  const problem = checkOwners(object, admitted)
  if (problem === undefined) return admitted
  request.warn(
    '.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated ' +
      `mutating admission controller; please fix your requests: ${problem}`,
  )
  return { ...admitted, metadata: { ...admitted.metadata, managedFields: object.metadata.managedFields } }
}

/** Returns what is invalid in managedFields after admission. */
function checkOwners(oldObject: KubernetesObject, { metadata }: KubernetesObject): string | undefined {
  const owners = metadata.managedFields
  if (owners === oldObject.metadata.managedFields) return undefined
  return managedFieldsError(owners as JsonValue | undefined)
}
