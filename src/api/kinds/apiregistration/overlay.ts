/** Facts of the group that the generated definitions lack; only the generator reads them. */
import { merged, type Overlay } from '../overlay.ts'

export const apiregistrationOverlay: Overlay = {
  merging: { 'APIServiceStatus.conditions': merged('type') },
  spacedSentences: [
    'APIServiceSpec.groupPriorityMinimum',
    'APIServiceSpec.insecureSkipTLSVerify',
    'APIServiceSpec.version',
    'APIServiceSpec.versionPriority',
  ],
  resources: { apiservices: { categories: ['api-extensions'] } },
  extensions: { 'APIServiceSpec.caBundle': { 'x-kubernetes-list-type': 'atomic' } },
  fieldNumbers: `
APIService: metadata spec status
APIServiceCondition: type status lastTransitionTime reason message
APIServiceList: metadata items
APIServiceSpec: service? group version insecureSkipTLSVerify caBundle 7:groupPriorityMinimum versionPriority
APIServiceStatus: conditions
ServiceReference: namespace name port?
`,
}
