/**
 * Requires permission to `attest` for the signer when a ClusterTrustBundle of that signer is written.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#clustertrustbundleattest
 */
import type { ClusterTrustBundle } from '#/api/generated/certificates/v1beta1.ts'
import { equalJson } from '#/api/json-value.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { isAbout, refused, type AdmissionPlugin } from './admission.ts'
import { mayUseSigner } from './certificate-signers.ts'
import type { PluginContext } from './plugin-context.ts'

export function clusterTrustBundleAttest({ authorizer }: PluginContext): AdmissionPlugin {
  return {
    name: 'ClusterTrustBundleAttest',
    handles: target =>
      (target.operation === 'CREATE' || target.operation === 'UPDATE') &&
      isAbout(target, 'clustertrustbundles.certificates.k8s.io'),
    async validate(request) {
      const bundle = request.object as Partial<ClusterTrustBundle>
      const { signerName = '' } = bundle.spec ?? {}
      if (signerName === '' || (request.before && isOnlyCollected(bundle, request.before))) return
      if (await mayUseSigner(authorizer, { user: request.user, verb: 'attest', signerName })) return
      throw refused(request, `user not permitted to attest for signerName "${signerName}"`)
    },
  }
}

/** Exempts the garbage collector, which changes only owner references and finalizers. */
function isOnlyCollected(object: KubernetesObject, before: KubernetesObject): boolean {
  return equalJson(withoutOwners(object), withoutOwners(before))
}

function withoutOwners({ metadata = {}, ...rest }: KubernetesObject): object {
  const { ownerReferences: _owners, finalizers: _finalizers, managedFields: _fields, ...kept } = metadata
  return { ...rest, metadata: kept }
}
