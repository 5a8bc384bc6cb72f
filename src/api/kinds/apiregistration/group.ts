/** Overlay and protobuf field numbers of the group. Imports no rules: the generator reads this file. */
import { merged, type Overlay } from '../overlay.ts'

export const apiregistrationOverlay: Overlay = {
  merging: { 'APIServiceStatus.conditions': merged('type') },
  resources: { apiservices: { categories: ['api-extensions'] } },
}

/** In the notation of `protobuf/field-numbers.ts`. */
export const apiregistrationFieldNumbers = `
APIService: metadata spec status
APIServiceCondition: type status lastTransitionTime reason message
APIServiceList: metadata items
APIServiceSpec: service? group version insecureSkipTLSVerify caBundle 7:groupPriorityMinimum versionPriority
APIServiceStatus: conditions
ServiceReference: namespace name port?
`
