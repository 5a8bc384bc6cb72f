/** Builds the controllers of a single-process cluster, with the keys and certificates that they need. */
import { createPrivateKey } from 'node:crypto'
import { keyIdOf } from '#/base/json-web-key.ts'
import { signToken } from '#/base/json-web-token.ts'
import type { Controller } from '#/controllers/controller.ts'
import { controllersOf } from '#/controllers/controllers.ts'
import { hostPathProvisioner } from '#/controllers/host-path-provisioner.ts'
import type { CertificateAuthority } from '#/kubeadm/certificates.ts'
import { csrSigner } from '#/kubeadm/csr-signer.ts'
import type { ClusterNetwork } from '#/network/cluster-network.ts'
import type { Platform } from '#/platform/platform.ts'
import { simulatedPodCidr } from './simulated-nodes.ts'

export interface ClusterControllersOptions {
  readonly platform: Platform
  readonly crypto: Crypto
  readonly ca: CertificateAuthority
  /** Private key that signs service account tokens, PEM. */
  readonly serviceAccountKey: string
  readonly serviceCidrs: readonly string[]
  /**
   * Addresses for services of type LoadBalancer. Default: the range of the node; without a node such services
   * stay pending.
   */
  readonly loadBalancerAddresses: readonly string[]
  /** Set when this machine is the node. */
  readonly node?: ControlledNode
}

export interface ControlledNode {
  readonly network: Pick<ClusterNetwork, 'podCidrs' | 'loadBalancerAddresses'>
  readonly folders: { readonly volumes: string }
}

/** Volumes of simulated nodes have no folder to remove. */
export function clusterControllers(options: ClusterControllersOptions): readonly Controller[] {
  const { platform, crypto, ca, serviceAccountKey, serviceCidrs, node } = options
  const loadBalancerAddresses =
    node && options.loadBalancerAddresses.length === 0
      ? [node.network.loadBalancerAddresses]
      : options.loadBalancerAddresses
  const privateKey = createPrivateKey(serviceAccountKey)
  const keyId = keyIdOf(privateKey)
  return controllersOf({
    caCertificate: ca.cert,
    ...(ca.key !== undefined && {
      signCertificate: csrSigner({ platform, crypto }, { cert: ca.cert, key: ca.key }),
    }),
    signToken: claims => signToken(claims, { privateKey, keyId }),
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
