import { merged, type Overlay } from '../overlay.ts'

export const networking: Overlay = {
  atomic: ['ServiceBackendPort'],
  merging: { 'ServiceCIDRStatus.conditions': merged('type') },
  resources: {
    ingresses: { shortNames: ['ing'] },
    ipaddresses: { shortNames: ['ip'] },
    networkpolicies: { shortNames: ['netpol'] },
  },
}
