/** The control plane of a single-process cluster, with the keys and certificates that its controllers need. */
import { createPrivateKey } from 'node:crypto'
import { keyIdOf } from '#/base/json-web-key.ts'
import { signToken } from '#/base/json-web-token.ts'
import type { ApiServer } from '#/apiserver/api-server.ts'
import type { ApiServerSettings } from '#/apiserver/settings.ts'
import type { Controller } from '#/controllers/controller.ts'
import { controllersOf } from '#/controllers/controllers.ts'
import { hostPathProvisioner } from '#/controllers/host-path-provisioner.ts'
import type { ClusterCertificates } from '#/kubeadm/certificates.ts'
import { csrSigner } from '#/kubeadm/csr-signer.ts'
import type { ClusterNetwork } from '#/network/cluster-network.ts'
import type { Platform } from '#/platform/platform.ts'
import type { SchedulerConfiguration } from '#/scheduler/configuration.ts'
import { ControlPlane, type ControlPlaneComponent } from './control-plane.ts'
import { simulatedPodCidr } from './simulated-nodes.ts'

export interface ClusterControlPlaneChoice {
  readonly components?: readonly ControlPlaneComponent[]
  /**
   * Addresses for services of type LoadBalancer. Default: the range of the node; without a node such services
   * stay pending.
   */
  readonly loadBalancerAddresses?: readonly string[]
}

export interface ClusterControlPlaneParts {
  readonly platform: Platform
  readonly server: Pick<ApiServer, 'handle' | 'scheme'>
  readonly crypto: Crypto
  readonly certificates: ClusterCertificates
  readonly settings: ApiServerSettings
  readonly scheduler: SchedulerConfiguration | undefined
  /** Set when this machine is the node. */
  readonly node: ControlledNode | undefined
  /** `host:port` of the API server at the node's address. */
  readonly serverAddress: string | undefined
}

/** Not started yet. */
export function clusterControlPlane(
  choice: ClusterControlPlaneChoice,
  parts: ClusterControlPlaneParts,
): ControlPlane {
  const { platform, server, scheduler, serverAddress } = parts
  return new ControlPlane({
    platform,
    server,
    controllers: clusterControllers(choice, parts),
    ...(choice.components && { components: choice.components }),
    ...(scheduler && { scheduler }),
    serverAddress,
  })
}

export interface ControlledNode {
  readonly network: Pick<ClusterNetwork, 'podCidrs' | 'loadBalancerAddresses'>
  readonly folders: { readonly volumes: string }
}

/** Volumes of simulated nodes have no folder to remove. */
function clusterControllers(
  { loadBalancerAddresses: given = [] }: ClusterControlPlaneChoice,
  { platform, crypto, certificates, settings, node }: ClusterControlPlaneParts,
): readonly Controller[] {
  const loadBalancerAddresses = node && given.length === 0 ? [node.network.loadBalancerAddresses] : given
  const { ca, serviceAccounts } = certificates
  const { signingKey = serviceAccounts.privateKey } = settings.authentication.serviceAccounts
  const privateKey = createPrivateKey(signingKey)
  const keyId = keyIdOf(privateKey)
  return controllersOf({
    caCertificate: ca.cert,
    ...(ca.key !== undefined && {
      signCertificate: csrSigner({ platform, crypto }, { cert: ca.cert, key: ca.key }),
    }),
    signToken: claims => signToken(claims, { privateKey, keyId }),
    clusterCidrs: node?.network.podCidrs ?? [simulatedPodCidr],
    serviceCidrs: settings.serviceCidrs ?? [],
    hasStorageVersionMigrator: settings.featureGates?.includes('StorageVersionMigrator') ?? false,
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
