/** The controllers of a cluster in one process, with the keys and certificates that they need. */
import { createPrivateKey } from 'node:crypto'
import { keyIdOf } from '#/base/json-web-key.ts'
import { signToken } from '#/base/json-web-token.ts'
import type { Resource } from '#/api/resource.ts'
import { checkPolicyTypes } from '#/cel/check-policy-types.ts'
import type { Controller } from '#/controllers/controller.ts'
import { controllersOf } from '#/controllers/controllers.ts'
import { hostPathProvisioner } from '#/controllers/host-path-provisioner.ts'
import type { ClusterCertificates } from '#/kubeadm/certificates.ts'
import { requestSigner } from '#/kubeadm/request-signer.ts'
import type { ClusterNetwork } from '#/network/cluster-network.ts'
import type { Platform } from '#/platform/platform.ts'
import { simulatedPodCidr } from '#/simulated-nodes.ts'

export interface ClusterControllersOptions {
  readonly platform: Platform
  readonly crypto: Crypto
  readonly certificates: ClusterCertificates
  readonly serviceCidrs: readonly string[]
  /** Addresses for services of type LoadBalancer; such services wait without any, unless the node has some. */
  readonly loadBalancerAddresses: readonly string[]
  /** This machine, when it is one. */
  readonly node?: ControlledNode
  /** All that are served now. */
  readonly resources: () => readonly Resource[]
}

export interface ControlledNode {
  readonly network: Pick<ClusterNetwork, 'podCidrs' | 'loadBalancerAddresses'>
  readonly folders: { readonly volumes: string }
}

/** Where nodes are simulated their volumes are nowhere. */
export function clusterControllers(options: ClusterControllersOptions): readonly Controller[] {
  const { platform, crypto, certificates, serviceCidrs, node, resources } = options
  const loadBalancerAddresses =
    node && options.loadBalancerAddresses.length === 0
      ? [node.network.loadBalancerAddresses]
      : options.loadBalancerAddresses
  const { authority, serviceAccounts } = certificates
  const privateKey = createPrivateKey(serviceAccounts.privateKey)
  const keyId = keyIdOf(privateKey)
  return controllersOf({
    authority: authority.cert,
    ...(authority.key !== undefined && {
      signCertificate: requestSigner({ platform, crypto }, { cert: authority.cert, key: authority.key }),
    }),
    signToken: claims => signToken(claims, { privateKey, keyId }),
    checkPolicyTypes: policy => checkPolicyTypes(policy, resources()),
    clusterCidrs: node?.network.podCidrs ?? [simulatedPodCidr],
    serviceCidrs,
    ...(loadBalancerAddresses.length > 0 && { loadBalancerAddresses }),
    provisioners: [
      node
        ? hostPathProvisioner({
            root: node.folders.volumes,
            removeFolder: path => platform.files.remove(path),
          })
        : hostPathProvisioner({ removeFolder: () => Promise.resolve() }),
    ],
  })
}
