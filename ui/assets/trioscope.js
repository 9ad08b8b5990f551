window.Trioscope = { header() {} };
