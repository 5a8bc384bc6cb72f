/** Protobuf field numbers, in the notation of `src/api/protobuf/field-numbers.ts`. */
export const apiregistration = `
APIService: metadata spec status
APIServiceCondition: type status lastTransitionTime reason message
APIServiceList: metadata items
APIServiceSpec: service? group version insecureSkipTLSVerify caBundle 7:groupPriorityMinimum versionPriority
APIServiceStatus: conditions
ServiceReference: namespace name port?
`
