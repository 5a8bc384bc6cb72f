/** The administrator's kubeconfig of a new cluster. */
import { administrator } from './identities.ts'
import { ensureKubeconfigFile, type KubeconfigFileOptions } from './kubeconfig-file.ts'

export function ensureAdminKubeconfig(options: Omit<KubeconfigFileOptions, 'identity'>): Promise<void> {
  return ensureKubeconfigFile({ ...options, identity: administrator })
}
