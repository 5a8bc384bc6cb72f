/**
 * Requires permission to `attest` for the signer when a ClusterTrustBundle of that signer is written.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#clustertrustbundleattest
 */
import type { ClusterTrustBundle } from '#/api/generated/certificates/v1beta1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { matchesResource, admissionForbidden, type AdmissionPlugin } from '../admission-chain.ts'
import { isAuthorizedForSigner } from './certificate-signers.ts'
import type { PluginContext } from '../plugin-context.ts'

export function clusterTrustBundleAttest({ authorizer }: PluginContext): AdmissionPlugin {
  return {
    name: 'ClusterTrustBundleAttest',
    handles: target =>
      (target.operation === 'CREATE' || target.operation === 'UPDATE') &&
      matchesResource(target, 'clustertrustbundles.certificates.k8s.io'),
    async validate(request) {
      const bundle = request.object as ClusterTrustBundle
      const { signerName = '' } = bundle.spec
      if (signerName === '' || (request.oldObject && isOnlyCollected(bundle, request.oldObject))) return
      if (await isAuthorizedForSigner(authorizer, { user: request.user, verb: 'attest', signerName })) return
      throw admissionForbidden(request, `user not permitted to attest for signerName "${signerName}"`)
    },
  }
}

/** Exempts the garbage collector, which changes only owner references and finalizers. */
function isOnlyCollected(object: KubernetesObject, oldObject: KubernetesObject): boolean {
  return equalJson(withoutOwners(object), withoutOwners(oldObject))
}

function withoutOwners({ metadata, ...rest }: KubernetesObject): object {
  const { ownerReferences: _owners, finalizers: _finalizers, managedFields: _fields, ...kept } = metadata
  return { ...rest, metadata: kept }
}
