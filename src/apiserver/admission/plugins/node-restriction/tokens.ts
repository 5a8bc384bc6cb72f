/**
 * Checks a kubelet's token requests: only for pods on its node, and for audiences that their volumes or CSI
 * drivers request.
 */
import { notFound } from '#/api/errors.ts'
import type { TokenRequest } from '#/api/generated/authentication/v1.ts'
import type { Pod, Volume } from '#/api/generated/core/v1.ts'
import { persistentVolumeClaims, persistentVolumes, pods } from '#/api/generated/core/v1-resources.ts'
import { csiDrivers } from '#/api/generated/storage/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import { admissionForbidden, type AdmissionAttributes } from '../../admission-chain.ts'
import { getCached } from '../../lookup.ts'
import type { PluginContext } from '../../plugin-context.ts'

export async function checkToken(
  request: AdmissionAttributes,
  nodeName: string,
  context: PluginContext,
): Promise<void> {
  const { operation, subresource, namespace } = request
  if (operation !== 'CREATE' || subresource !== 'token') return
  const { spec } = request.object as TokenRequest
  const { apiVersion, kind, name, uid } = spec?.boundObjectRef ?? {}
  if (apiVersion !== 'v1' || kind !== 'Pod' || !name)
    throw admissionForbidden(request, 'node requested token not bound to a pod')
  if (!uid) throw admissionForbidden(request, 'node requested token with a pod binding without a uid')
  const pod = getCached(context, pods, { name, namespace })
  if (pod === undefined) throw notFound({ group: '', kind: 'pods', name })
  if (uid !== pod.metadata.uid) {
    throw admissionForbidden(
      request,
      `the UID in the bound object reference (${uid}) does not match the UID in record. ` +
        'The object might have been deleted and then recreated',
    )
  }
  if (pod.spec?.nodeName !== nodeName) {
    throw admissionForbidden(request, 'node requested token bound to a pod scheduled on a different node')
  }
  await checkAudience(request, pod, context)
}

async function checkAudience(
  request: AdmissionAttributes,
  pod: Stored<Pod>,
  context: PluginContext,
): Promise<void> {
  const { audiences = [] } = (request.object as TokenRequest).spec ?? {}
  if (audiences.length > 1) throw admissionForbidden(request, 'node may only request 0 or 1 audiences')
  const [audience = ''] = audiences
  const { user, namespace, name } = request
  const volumes = pod.spec?.volumes ?? []
  if (volumes.some(volume => tokenAudiences(context, pod, volume).includes(audience))) return
  const { decision } = await context.authorizer.authorize({
    user,
    isResource: true,
    verb: 'request-serviceaccounts-token-audience',
    group: '',
    version: 'v1',
    resource: audience,
    subresource: '',
    namespace,
    name,
  })
  if (decision === 'allow') return
  throw admissionForbidden(
    request,
    `audience "${audience}" not found in pod spec volume, ` +
      `${user.username} is not authorized to request tokens for this audience`,
  )
}

/** The audiences of the tokens that a volume projects or that its CSI driver requests. */
function tokenAudiences(context: PluginContext, pod: Stored<Pod>, volume: Volume): readonly string[] {
  const { sources } = volume.projected ?? {}
  if (sources)
    return sources.flatMap(({ serviceAccountToken: token }) => (token ? [token.audience ?? ''] : []))
  const driver = driverOf(context, pod, volume)
  if (driver === undefined) return []
  const { tokenRequests = [] } = getCached(context, csiDrivers, { name: driver })?.spec ?? {}
  return tokenRequests.map(({ audience }) => audience)
}

/** The CSI driver of a volume, inline or through its claim's PersistentVolume. */
function driverOf(
  context: PluginContext,
  { metadata }: Stored<Pod>,
  { name, csi, ephemeral, persistentVolumeClaim }: Volume,
): string | undefined {
  if (csi) return csi.driver
  const claimName = ephemeral ? `${metadata.name}-${name}` : persistentVolumeClaim?.claimName
  if (!claimName) return undefined
  const claim = getCached(context, persistentVolumeClaims, {
    name: claimName,
    namespace: metadata.namespace ?? '',
  })
  return getCached(context, persistentVolumes, { name: claim?.spec?.volumeName ?? '' })?.spec?.csi?.driver
}
